package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// TestOnlyAdminsComeIn: a person's token, and another API's, open no operator's
// route, and nothing behind it is asked.
func TestOnlyAdminsComeIn(t *testing.T) {
	for _, role := range []string{"user", "service", ""} {
		f := newOperators()
		f.role = role
		for _, r := range [][2]string{
			{"GET", "/v1/admin/policy"}, {"PUT", "/v1/admin/policy"}, {"GET", "/v1/admin/policy/history"},
			{"POST", "/v1/admin/policy/revert"}, {"GET", "/v1/admin/audit"},
		} {
			a := f.send(t, r[0], r[1], `{}`, "If-Match", "*")
			if a.status != 403 || a.code != "forbidden" || f.asked > 0 {
				t.Errorf("%s %s as %q: %d %s, asked %d times", r[0], r[1], role, a.status, a.code, f.asked)
			}
		}
	}
}

func TestPolicyIsReturned(t *testing.T) {
	f := newOperators()
	a := f.send(t, "GET", "/v1/admin/policy", "")
	const want = `{"idle_timeout_seconds":1209600,"absolute_lifetime_seconds":2592000,"touch_interval_seconds":60,"sweep_schedule":"@every 1m","max_sessions":1,` +
		`"limits":` + defaultLimits + `,"over_limit":"replace_oldest","device_classes":["phone","tablet","desktop","web","tv","other"],"version":7,"updated_at":"2026-11-21T09:12:33.123Z","updated_by":"ada","note":"n"}`
	if a.status != 200 || a.body != want || a.header.Get("ETag") != `"7"` {
		t.Errorf("got %d %s, ETag %s", a.status, a.body, a.header.Get("ETag"))
	}
	for tag, status := range map[string]int{`"7"`: 304, `W/"7"`: 304, `*`: 304, `"6", "7"`: 304, `"6"`: 200, `7`: 200, ``: 200} {
		a := f.send(t, "GET", "/v1/admin/policy", "", "If-None-Match", tag)
		if a.status != status || a.header.Get("ETag") != `"7"` || status == 304 && a.body != "" {
			t.Errorf("If-None-Match %s: %d %s", tag, a.status, a.body)
		}
	}
}

const change = `{"idle_timeout_seconds":3600,"absolute_lifetime_seconds":7200,"touch_interval_seconds":30,"sweep_schedule":"@hourly"`

func TestPolicyIsChanged(t *testing.T) {
	f := newOperators()
	a := f.send(t, "PUT", "/v1/admin/policy", change+`,"note":"lost phones","confirm":true}`, "If-Match", `"7"`)
	if a.status != 200 || a.header.Get("ETag") != `"8"` || !strings.HasSuffix(a.body, `"version":8,"updated_at":"2026-11-21T09:12:33.123Z",`+
		`"updated_by":"ada","note":"lost phones","dry_run":false,"effect":{"live":{"count":100,"error":0},"ends_now":{"count":3,"error":1},`+
		`"ends_within_hour":{"count":2,"error":0}}}`) {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	c := f.change
	if c.Version != 7 || c.Next.Idle != time.Hour || c.Next.Absolute != 2*time.Hour || c.Next.Touch != 30*time.Second ||
		c.Next.Schedule != "@hourly" || c.Note != "lost phones" || !c.Confirmed || c.DryRun {
		t.Errorf("asked for %+v", c)
	}
	if by := f.by; by.Name != "zoë" || by.ID != 7 || by.Via != audit.ViaAPI || by.RequestID == "" {
		t.Errorf("by %+v", by)
	}

	a = f.send(t, "PUT", "/v1/admin/policy?dry_run=true", change+`}`, "If-Match", `"7"`)
	if a.status != 200 || !f.change.DryRun || f.change.Confirmed || a.header.Get("ETag") != `"7"` || !strings.Contains(a.body, `"dry_run":true`) {
		t.Errorf("dry run: %d %s, asked for %+v", a.status, a.body, f.change)
	}
	a = f.send(t, "POST", "/v1/admin/policy/revert?dry_run=false", `{"version":3,"note":"back","confirm":true}`, "If-Match", `*`)
	if a.status != 200 || f.reverted != 3 || f.change.Note != "back" || f.change.Version != 7 || !f.change.Confirmed || f.change.DryRun {
		t.Errorf("revert: %d %s, to %d by %+v", a.status, a.body, f.reverted, f.change)
	}
}

// TestWhatIsReplacedHasToBeSaid: RFC 9110 section 13.1.1, and RFC 6585 section 3.
func TestWhatIsReplacedHasToBeSaid(t *testing.T) {
	for _, r := range [][3]string{{"PUT", "/v1/admin/policy", change + "}"}, {"POST", "/v1/admin/policy/revert", `{"version":3}`}} {
		for _, c := range []struct {
			match  []string
			status int
			code   string
		}{
			{nil, 428, "precondition_required"}, {[]string{""}, 428, "precondition_required"},
			{[]string{`"7"`}, 200, ""}, {[]string{"*"}, 200, ""}, {[]string{`"6"`, `"7"`}, 200, ""}, {[]string{`"6", "7"`}, 200, ""},
			{[]string{`"6"`}, 412, "version_conflict"}, {[]string{`W/"7"`}, 412, "version_conflict"}, {[]string{`"07"`}, 412, "version_conflict"},
			{[]string{`""`}, 412, "version_conflict"}, {[]string{`7`}, 422, "validation_failed"}, {[]string{`"7`}, 422, "validation_failed"},
		} {
			f := newOperators()
			var headers []string
			for _, m := range c.match {
				headers = append(headers, "If-Match", m)
			}
			a := f.send(t, r[0], r[1], r[2], headers...)
			if a.status != c.status || a.code != c.code || (f.sets > 0) != (c.status == 200) {
				t.Errorf("%s with If-Match %q: %d %s %s", r[0], c.match, a.status, a.code, a.body)
			}
		}
		f := newOperators()
		f.err = fmt.Errorf("operator: set policy: %w", policy.ErrVersion) // between the look and the write
		if a := f.send(t, r[0], r[1], r[2], "If-Match", `*`); a.status != 412 {
			t.Errorf("%s: changed meanwhile: %d", r[0], a.status)
		}
	}
}

func TestDrasticChangeIsRefusedWithItsEffect(t *testing.T) {
	for _, r := range [][3]string{{"PUT", "/v1/admin/policy", change + "}"}, {"POST", "/v1/admin/policy/revert", `{"version":3}`}} {
		f := newOperators()
		f.err = operator.ErrUnconfirmed
		a := f.send(t, r[0], r[1], r[2], "If-Match", `"7"`)
		if a.status != 409 || a.code != "confirmation_required" || !strings.Contains(a.body, `"effect":{"live":{"count":100,"error":0},"ends_now":{"count":3,"error":1}`) {
			t.Errorf("%s: %d %s", r[0], a.status, a.body)
		}
	}
}

// TestPolicyErrorsAreReturnedTogether: what is missing and what is wrong, in one
// answer.
func TestPolicyErrorsAreReturnedTogether(t *testing.T) {
	f := newOperators()
	f.verbs.Schedule = func(string) error { return errors.New("never comes") }
	for body, want := range map[string]string{
		`{}`: "idle_timeout_seconds:required absolute_lifetime_seconds:required touch_interval_seconds:required sweep_schedule:required",
		`{"idle_timeout_seconds":null,"absolute_lifetime_seconds":1e17,"sweep_schedule":"x"}`: "400",
		`{"idle_timeout_seconds":null,"absolute_lifetime_seconds":9223372036854775807,"sweep_schedule":"x"}`: "idle_timeout_seconds:required " +
			"touch_interval_seconds:required absolute_lifetime_seconds:too_long sweep_schedule:invalid",
		`{"idle_timeout_seconds":-9223372036854775808,"absolute_lifetime_seconds":60,"touch_interval_seconds":0,"sweep_schedule":""}`: "idle_timeout_seconds:too_short " +
			"absolute_lifetime_seconds:too_short touch_interval_seconds:too_short sweep_schedule:invalid",
		change + `,"note":"` + strings.Repeat("é", 1001) + `"}`: "sweep_schedule:invalid note:too_long",
		change + `,"note":"a\u001b[2Jb"}`:                       "sweep_schedule:invalid note:invalid",
		change + `,"note":7}`:                                   "400",
		change + `,"confirm":"yes"}`:                            "400",
		change + `,"version":7}`:                                "400",
		`{"idle_timeout_seconds":1.5}`:                          "400",
		`{"idle_timeout_seconds":"60"}`:                         "400",
		change + `,"max_sessions":"3"}`:                         "400",
	} {
		f.real = true
		a := f.send(t, "PUT", "/v1/admin/policy", body, "If-Match", `*`)
		var p struct {
			Errors []struct{ Field, Code, Message string }
		}
		_ = json.Unmarshal([]byte(a.body), &p)
		got := fmt.Sprint(a.status)
		if a.status == 422 {
			var all []string
			for _, e := range p.Errors {
				all = append(all, e.Field+":"+e.Code)
			}
			got = strings.Join(all, " ")
		}
		if got != want || f.sets > 0 {
			t.Errorf("%s:\n got %s\nwant %s", body, got, want)
		}
	}
}

func TestRevertNeedsAVersionThatWas(t *testing.T) {
	f := newOperators()
	for body, want := range map[string]string{`{}`: `422 "field":"version","code":"required"`, `{"version":null}`: `400 "code":"body_malformed"`} {
		status, text, _ := strings.Cut(want, " ")
		if a := f.send(t, "POST", "/v1/admin/policy/revert", body, "If-Match", `*`); strconv.Itoa(a.status) != status || !strings.Contains(a.body, text) {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	f.err = operator.ErrNoVersion
	a := f.send(t, "POST", "/v1/admin/policy/revert", `{"version":99}`, "If-Match", `*`)
	if a.status != 422 || !strings.Contains(a.body, `"field":"version","code":"unknown"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestMistypedDryRunChangesNothing: who asks what would be, and mistypes it, must
// not find that it is.
func TestMistypedDryRunChangesNothing(t *testing.T) {
	for _, q := range []string{"?dryrun=true", "?dry_run", "?dry_run=", "?dry_run=1", "?dry_run=TRUE", "?dry_run=true&dry_run=true", "?dry_run=false&x=1", "?%zz", "?cursor=1"} {
		f := newOperators()
		if a := f.send(t, "PUT", "/v1/admin/policy"+q, change+"}", "If-Match", `*`); a.status != 422 || f.sets > 0 {
			t.Errorf("%s: %d %s, set %d times", q, a.status, a.body, f.sets)
		}
	}
}

func TestHistoryComesInPages(t *testing.T) {
	f := newOperators()
	var seen []int64
	cursor := ""
	for range 10 {
		a := f.send(t, "GET", "/v1/admin/policy/history?limit=3"+cursor, "")
		var page struct {
			Policies []struct{ Version int64 }
			Next     string `json:"next_cursor"`
		}
		if a.status != 200 || json.Unmarshal([]byte(a.body), &page) != nil {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for _, p := range page.Policies {
			seen = append(seen, p.Version)
		}
		if page.Next == "" {
			break
		}
		cursor = "&cursor=" + page.Next
	}
	if fmt.Sprint(seen) != "[7 6 5 4 3 2 1]" {
		t.Errorf("seen: %v", seen)
	}
	for _, q := range []string{"?limit=0", "?limit=201", "?cursor=x", "?before=3", "?limit=1&limit=2"} {
		if a := f.send(t, "GET", "/v1/admin/policy/history"+q, ""); a.status != 422 {
			t.Errorf("%s: %d", q, a.status)
		}
	}
}

func TestAdminVerbsOnADownDatabaseAreUndecided(t *testing.T) {
	f := newOperators()
	f.down = errors.New(cause)
	for _, r := range [][3]string{
		{"GET", "/v1/admin/policy", ""}, {"PUT", "/v1/admin/policy", change + "}"}, {"GET", "/v1/admin/policy/history", ""},
		{"POST", "/v1/admin/policy/revert", `{"version":3}`}, {"GET", "/v1/admin/audit", ""},
	} {
		if a := f.send(t, r[0], r[1], r[2], "If-Match", "*"); a.status != 503 || a.code != "unavailable" || strings.Contains(a.body, "canary") {
			t.Errorf("%s %s: %d %s", r[0], r[1], a.status, a.body)
		}
	}
}

// operators are the verbs of the operator's side, in memory.
type operators struct {
	role      string
	err, down error
	real      bool           // ask verbs, which check
	seed      *policy.Policy // in force, if set
	verbs     operator.Policies
	events    []audit.Event
	filter    audit.Filter

	asked, sets int
	change      operator.PolicyChange
	reverted    int64
	by          audit.Actor
}

func newOperators() *operators {
	f := &operators{role: "admin"}
	f.verbs = operator.Policies{Store: policyStore{f}, Now: func() time.Time { return at }, Schedule: func(string) error { return nil }}
	return f
}

// A policy that no user has set has no name and no time.
func TestDefaultPolicyHasNoAuthor(t *testing.T) {
	for name, never := range map[string]time.Time{"as it is stored": time.UnixMilli(0).UTC(), "unset": {}} {
		f, seed := newOperators(), policy.Default()
		seed.UpdatedAt, seed.UpdatedBy = never, "flakepass"
		f.seed = &seed
		a := f.send(t, "GET", "/v1/admin/policy", "")
		if a.status != 200 || !strings.HasSuffix(a.body, `,"version":1,"note":""}`) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

func (f *operators) inForce() policy.Policy {
	p := policy.Default()
	p.Version, p.UpdatedAt, p.UpdatedBy, p.Note = 7, at, "ada", "n"
	if f.seed != nil {
		return *f.seed
	}
	return p
}

func (f *operators) Current(context.Context) (policy.Policy, error) {
	f.asked++
	return f.inForce(), f.down
}

func (f *operators) History(_ context.Context, before int64, limit int) (list []policy.Policy, err error) {
	f.asked++
	for v := f.inForce().Version; v > 0; v-- {
		p := f.inForce()
		if p.Version = v; (before == 0 || v < before) && len(list) < limit {
			list = append(list, p)
		}
	}
	return list, f.down
}

func (f *operators) Set(ctx context.Context, by audit.Actor, c operator.PolicyChange) (policy.Policy, policy.Effect, error) {
	f.asked++
	if f.real {
		return f.verbs.Set(ctx, by, c)
	}
	f.change, f.by = c, by
	f.sets++
	next := c.Next
	next.Version, next.UpdatedAt, next.UpdatedBy, next.Note = c.Version+1, at, "ada", c.Note
	return next, policy.Effect{Live: policy.Estimate{Count: 100}, Ends: policy.Estimate{Count: 3, Error: 1}, Soon: policy.Estimate{Count: 2}}, f.err
}

func (f *operators) Revert(ctx context.Context, by audit.Actor, version int64, c operator.PolicyChange) (policy.Policy, policy.Effect, error) {
	f.reverted = version
	c.Next = f.inForce()
	return f.Set(ctx, by, c)
}

func (f *operators) List(_ context.Context, filter audit.Filter) ([]audit.Event, error) {
	f.asked++
	f.filter = filter
	var list []audit.Event
	for _, e := range f.events {
		if (filter.Before == 0 || e.ID < filter.Before) && len(list) < filter.Limit {
			list = append(list, e)
		}
	}
	return list, f.down
}

// A policyStore is what the real verbs ask; nothing is ever set in it.
type policyStore struct{ f *operators }

func (s policyStore) LoadPolicy(context.Context) (policy.Policy, error) { return s.f.inForce(), nil }

func (s policyStore) SetPolicy(context.Context, int64, policy.Policy, audit.Event) (policy.Policy, error) {
	s.f.sets++
	return policy.Policy{}, nil
}

func (s policyStore) PolicyHistory(context.Context, int64, int) ([]policy.Policy, error) {
	return nil, nil
}

func (s policyStore) Effect(context.Context, policy.Policy, policy.Policy, time.Time) (policy.Effect, error) {
	return policy.Effect{}, nil
}

type reply struct {
	status     int
	code, body string
	header     http.Header
}

// send sends a request of a user with that role, with headers as name, value,
// ..., and holds the answer to the contract.
func (f *operators) send(t testing.TB, method, path, body string, headers ...string) reply {
	t.Helper()
	h := handler(t, &world{}, func(o *httpapi.Options) {
		o.Sessions = roleOf{o.Sessions, f.role}
		o.Policies, o.Events = f, f
	})
	req, err := http.NewRequestWithContext(t.Context(), method, "http://x"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	status, text, header := byContract(t, h, req)
	var p struct{ Code string }
	_ = json.Unmarshal([]byte(text), &p)
	return reply{status, p.Code, text, header}
}

// roleOf gives every user that role.
type roleOf struct {
	flakepass.Verifier
	role string
}

func (r roleOf) Verify(ctx context.Context, t flakepass.Token) (flakepass.Identity, error) {
	id, err := r.Verifier.Verify(ctx, t)
	id.Role = r.role
	return id, err
}
