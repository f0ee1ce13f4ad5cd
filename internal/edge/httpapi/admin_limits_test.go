package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

const defaultLimits = `{"login_place":[{"count":5,"period_seconds":60},{"count":20,"period_seconds":3600},{"count":50,"period_seconds":86400}],` +
	`"login_account":{"count":100,"period_seconds":2592000},"login_address":{"count":120,"period_seconds":60},` +
	`"register":{"count":30,"period_seconds":3600},"introspect":{"count":1000,"period_seconds":1}}`

// TestLimitsAreChangedWithThePolicy: given, they are all there; left out, they
// stay as they are.
func TestLimitsAreChangedWithThePolicy(t *testing.T) {
	f := newOperators()
	want := limit.Default()
	want.LoginPlace = [limit.MaxPlace]limit.Rule{{Count: 4, Per: time.Minute}, {Count: 40, Per: 24 * time.Hour}}
	want.Register = limit.Rule{Count: 1, Per: 24 * time.Hour}
	text, err := limit.Encode(&want)
	if err != nil {
		t.Fatal(err)
	}
	a := f.send(t, "PUT", "/v1/admin/policy", change+`,"limits":`+string(text)+`}`, "If-Match", `"7"`)
	if a.status != 200 || f.change.Next.Limits != want || !strings.Contains(a.body, `"limits":`+string(text)+`,`) || !strings.Contains(a.body, `"version":8`) {
		t.Errorf("got %d %s, asked for %+v", a.status, a.body, f.change.Next.Limits)
	}
	if a = f.send(t, "PUT", "/v1/admin/policy", change+`}`, "If-Match", `"7"`); a.status != 200 || f.change.Next.Limits != limit.Default() {
		t.Errorf("left out: got %d, asked for %+v", a.status, f.change.Next.Limits)
	}
}

// TestLimitErrorsAreReturnedTogether: with those of the times, each field once.
func TestLimitErrorsAreReturnedTogether(t *testing.T) {
	f := newOperators()
	f.real = true
	with := func(old, text string) string { return strings.Replace(defaultLimits, old, text, 1) }
	for text, want := range map[string]string{
		`{}`: "limits.login_account:required limits.login_address:required limits.register:required limits.introspect:required limits.login_place:required",
		with(`"register":{"count":30,"period_seconds":3600},`, ""):                                       "limits.register:required",
		with(`{"count":100,"period_seconds":2592000}`, `{"count":100}`):                                  "limits.login_account:invalid",
		with(`"period_seconds":2592000`, `"period_seconds":3600`):                                        "limits.login_account:invalid",
		with(`"count":1000`, `"count":9223372036854775807`):                                              "limits.introspect:invalid",
		with(`"count":1000`, `"count":-1`):                                                               "limits.introspect:invalid",
		with(`[{"count":5`, `[{"count":1,"period_seconds":1},{"count":1,"period_seconds":2},{"count":5`): "limits.login_place:invalid",
		with(`[{"count":5`, `[{"count":500`):                                                             "limits.login_place:invalid",
		with(`"count":1000`, `"count":1.5`):                                                              "400",
		with(`"count":1000`, `"count":1000,"burst":7`):                                                   "400",
		with(`"introspect"`, `"sms":{"count":1,"period_seconds":1},"introspect"`):                        "400",
		with(`"introspect"`, `"register":{"count":1,"period_seconds":1},"introspect"`):                   "400",
		`[]`: "400", `null`: "400",
	} {
		a := f.send(t, "PUT", "/v1/admin/policy", change+`,"limits":`+text+`}`, "If-Match", "*")
		var p struct {
			Errors []struct{ Field, Code, Message string }
		}
		_ = json.Unmarshal([]byte(a.body), &p)
		got := "400"
		if a.status == 422 {
			var all []string
			for _, e := range p.Errors {
				all = append(all, e.Field+":"+e.Code)
			}
			got = strings.Join(all, " ")
		}
		if (a.status != 422 && a.status != 400) || got != want || f.sets > 0 {
			t.Errorf("%s:\n got %d %s\nwant %s", text, a.status, got, want)
		}
	}
	a := f.send(t, "PUT", "/v1/admin/policy", `{"limits":{}}`, "If-Match", "*")
	if n := strings.Count(a.body, `"code":"required"`); n != 9 {
		t.Errorf("%d fields are missing, want 9: %s", n, a.body)
	}
}
