package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// issue sends body to /v1/issue, held to the contract.
func issue(t testing.TB, h http.Handler, credential, body string, header ...string) oauthAnswer {
	t.Helper()
	return post(t, h, "/v1/issue", body, authorization(credential), func(r *http.Request) {
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
	})
}

// TestIssueAnswersWithTheToken, and with what is kept of the login.
func TestIssueAnswersWithTheToken(t *testing.T) {
	key, row := mintKey(servicekey.Issue)
	w := &world{plain: true}
	h := handler(t, w, func(o *httpapi.Options) { o.Keys = keysOver(row) })
	a := issue(t, h, "Bearer "+key.Reveal(), `{"external_id":"crm-1","create":true,"method":"sms","auth_time":"`+time.Now().Add(-time.Hour).In(time.FixedZone("", 8*60*60)).Format(time.RFC3339)+`","device":{"class":"phone","name":"Pixel"},"client_ip":"2001:db8::1","end_session":"9","code":"123456"}`)
	if a.status != http.StatusOK || !strings.Contains(a.body, `"token":"fp_`) || !strings.Contains(a.body, `"user_id":"7"`) || !strings.Contains(a.body, `"created":false`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if len(w.devices) != 1 || w.devices[0].Class != "phone" {
		t.Errorf("on %v", w.devices)
	}
	hourAgo := time.Now().UTC().Add(23 * time.Hour).Format("2006-01-02T15:04:05") // a day later by that clock
	for _, bad := range []struct{ body, field string }{
		{`{"method":"sms"}`, "user_id"},
		{`{"user_id":"7","method":"smoke"}`, "method"},
		{`{"user_id":"seven","method":"sms"}`, "user_id"},
		{`{"user_id":"7","method":"sms","auth_time":"yesterday"}`, "auth_time"},
		{`{"user_id":"7","method":"sms","auth_time":"` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`, "auth_time"},
		{`{"user_id":"7","method":"sms","auth_time":"0001-01-01T00:00:00Z"}`, "auth_time"}, // a zero time of Go
		{`{"user_id":"7","method":"sms","auth_time":""}`, "auth_time"},
		{`{"user_id":"7","method":"sms","auth_time":"` + hourAgo + `+24:00"}`, "auth_time"},
		{`{"user_id":"7","method":"sms","client_ip":"home"}`, "client_ip"},
		{`{"user_id":"7","method":"sms","client_ip":"fe80::1%eth0"}`, "client_ip"},
		{`{"user_id":"7","method":"sms","end_session":"x"}`, "end_session"},
		{`{"user_id":"7","method":"sms","device":{"class":"toaster"}}`, "device.class"},
	} {
		if a := issue(t, h, "Bearer "+key.Reveal(), bad.body); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `"field":"`+bad.field+`"`) {
			t.Errorf("%s: %d %s", bad.body, a.status, a.body)
		}
	}
	for _, body := range []string{`{"user_id":7,"method":"sms"}`, `{"user_id":"7","method":"sms","admin":true}`, `null`, `{"method":"sms","method":"sms"}`} {
		if a := issue(t, h, "Bearer "+key.Reveal(), body); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}

// TestIssueKnowsTheDevice: the credential of the device comes back in the next request, and gets a code past
// what strangers have used up, as at a login with a password.
func TestIssueKnowsTheDevice(t *testing.T) {
	key, row := mintKey(servicekey.Issue)
	w := &world{plain: true}
	h := handler(t, w, func(o *httpapi.Options) { o.Keys = keysOver(row) })
	a := issue(t, h, "Bearer "+key.Reveal(), `{"user_id":"7","method":"sms"}`)
	var in struct {
		Device string `json:"device_credential"`
	}
	if err := json.Unmarshal([]byte(a.body), &in); err != nil || in.Device == "" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	w.plain = false
	issue(t, h, "Bearer "+key.Reveal(), `{"user_id":"7","method":"sms","code":"123456","client_ip":"::ffff:192.0.2.7","device_credential":"`+in.Device+`"}`)
	if len(w.tries) != 1 || w.tries[0].Credential.Reveal() != in.Device || w.tries[0].Address != netip.MustParseAddr("192.0.2.7") {
		t.Errorf("tried %+v", w.tries)
	}
}

// TestOnlyAKeyIssues: no token does, whoever's it is, and no key in the place of a token opens
// what is of people.
func TestOnlyAKeyIssues(t *testing.T) {
	key, row := mintKey(servicekey.Issue, servicekey.IssueAnyRole)
	w := &world{role: "admin"}
	h := handler(t, w, func(o *httpapi.Options) { o.Keys = keysOver(row) })
	const body = `{"user_id":"7","method":"sms"}`
	if a := issue(t, h, "Bearer "+flakepass.NewToken(who.SessionID).Reveal(), body); a.status != http.StatusForbidden || a.Code != "service_key_required" || len(w.asked) > 0 {
		t.Errorf("by the token of an admin: %d %s", a.status, a.body)
	}
	if a := issue(t, h, basic("x", key.Reveal()), body); a.status != http.StatusUnauthorized {
		t.Errorf("by Basic: %d %s", a.status, a.body)
	}
	if status, body, _ := withKey(t, h, http.MethodGet, "/v1/me", "Bearer "+key.Reveal()); status != http.StatusUnauthorized || !strings.Contains(body, "key_not_accepted") {
		t.Errorf("the key as a token: %d %s", status, body)
	}
}

// TestNameOfARequest: with quotes, as the draft has it, or without; and one.
func TestNameOfARequest(t *testing.T) {
	key, row := mintKey(servicekey.Issue)
	h := handler(t, &world{plain: true}, func(o *httpapi.Options) { o.Keys = keysOver(row) })
	for name, ok := range map[string]bool{
		`"8e03978e-40d5-43e8-bc93-6894a57f9324"`: true, "8e03978e-40d5-43e8-bc93-6894a57f9324": true, "a": true, strings.Repeat("x", 255): true,
		`""`: false, "": false, `"`: false, "a b": false, "ключ": false, `a"b`: false, strings.Repeat("x", 256): false, "a\\b": false,
	} {
		a := issue(t, h, "Bearer "+key.Reveal(), `{"user_id":"7","method":"sms"}`, "Idempotency-Key", name)
		if want := map[bool]int{true: 200, false: 422}[ok]; a.status != want {
			t.Errorf("%q: %d %s, want %d", name, a.status, a.body, want)
		}
	}
	quoted, bare := httpapi.RequestNamed(`"a"`), httpapi.RequestNamed("a")
	if quoted == nil || bare == nil || *quoted != *bare {
		t.Error("a name in quotes is another one than without")
	}
}

// FuzzRequestName: no name makes it panic, and what is taken is the same in quotes.
func FuzzRequestName(f *testing.F) {
	for _, s := range []string{"", "a", `"a"`, `"`, `""`, "a b", "\x00", "\xff", strings.Repeat("x", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := httpapi.RequestNamed(name)
		if got == nil {
			return
		}
		if again := httpapi.RequestNamed(`"` + strings.Trim(name, `"`) + `"`); again == nil || *again != *got {
			t.Errorf("%q is another name in quotes", name)
		}
	})
}

// FuzzIssue: no body is answered with a fault of the server.
func FuzzIssue(f *testing.F) {
	for _, body := range []string{
		`{"user_id":"7","method":"sms"}`, `{"external_id":"a","create":true,"username":"b","method":"sms","auth_time":"2026-11-25T09:12:33Z"}`, `{"create":1}`,
		`{"method":"sms","client_ip":"::1","end_session":"0","code":"000000","device":{"class":"phone","name":"\u0000","id":"x"}}`, `{"auth_time":"+292277026596-12-04T15:30:08Z"}`,
		`{"user_id":"7","method":"sms","auth_time":null}`, `{"user_id":"7","method":"sms","client_ip":"fe80::1%eth0"}`, `{"user_id":"7","method":"sms","client_ip":"::ffff:1.2.3.4","device_credential":"fpd_x"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		key, row := mintKey(servicekey.Issue)
		if a := issue(t, handler(t, &world{plain: true}, func(o *httpapi.Options) { o.Keys = keysOver(row) }), "Bearer "+key.Reveal(), string(body)); a.status >= 500 {
			t.Errorf("answered %d", a.status)
		}
	})
}
