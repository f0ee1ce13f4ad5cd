package lifecycletest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestLimitsActAtOnceOnEveryProcess: a change of the policy holds at the next
// attempt where it was made, and elsewhere when that is read; it ends no login, and
// gives no attempts back to a client that had used up what there was.
func TestLimitsActAtOnceOnEveryProcess(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			w := newPolicyWorld(t, setup.make)
			vars := w.With("FLAKEPASS_THROTTLE", "on", "FLAKEPASS_TRUSTED_PROXIES", "127.0.0.1")
			a, b := e2e.StartProcess(t, t.TempDir(), vars), e2e.StartProcess(t, t.TempDir(), vars)
			here, there := e2e.NewClient(t, a.Public), e2e.NewClient(t, b.Public)
			w.admin = here
			guess := func(c *e2e.Client, name, address string, status int) e2e.Answer {
				t.Helper()
				code := map[int]string{401: "credentials_invalid", 429: "rate_limited"}[status]
				return c.Want(c.Do("POST", "/v1/login", e2e.Object("username", name, "password", "wrong password, all of them"), e2e.Header("X-Forwarded-For", address)), status, code)
			}
			set := func(l limit.Limits, more string) e2e.Answer {
				t.Helper()
				text, err := limit.Encode(&l)
				if err != nil {
					t.Fatal(err)
				}
				tag := w.admin.Want(w.ask("GET", "/v1/admin/policy", ""), 200, "").Header.Get("ETag")
				return w.ask("PUT", "/v1/admin/policy"+more, wantedPolicy(14*24*3600, "0 0 1 1 *", `,"limits":`+string(text)), e2e.Header("If-Match", tag))
			}
			for range 5 {
				guess(here, "ada", "192.0.2.1", 401)
			}
			guess(here, "ada", "192.0.2.1", 429)

			// It asks for no confirmation, for it ends nothing.
			longer := limit.Default()
			longer.LoginPlace = [limit.MaxPlace]limit.Rule{{Count: 6, Per: time.Hour}, {Count: 50, Per: 24 * time.Hour}}
			for _, more := range []string{"?dry_run=true", ""} {
				if made := here.Want(set(longer, more), 200, ""); !bytes.Contains(made.Body, []byte(`"ends_now":{"count":0,"error":0}`)) ||
					!bytes.Contains(made.Body, []byte(`"login_place":[{"count":6,"period_seconds":3600}`)) {
					t.Errorf("changed: %s", made.Body)
				}
			}
			limited := func(a e2e.Answer) {
				t.Helper()
				if got := a.Header.Get("RateLimit-Policy"); got != `"login-place";q=6;w=3600` {
					t.Errorf("refused by %s", got)
				}
			}
			limited(guess(here, "ada", "192.0.2.1", 429)) // not let off
			for range 6 {
				guess(here, "bob", "192.0.2.1", 401) // by the new rule, at once
			}
			limited(guess(here, "bob", "192.0.2.1", 429))

			line := fmt.Sprintf(`"policy changed" version=%d `, 2)
			testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(b.Log.String(), line) }, "the other process has not read the policy")
			if w.Vars["FLAKEPASS_REDIS"] != "" { // all count together
				limited(guess(there, "ada", "192.0.2.1", 429))
			}
			for range 6 {
				guess(there, "zoe", "192.0.2.1", 401)
			}
			limited(guess(there, "zoe", "192.0.2.1", 429))

			// The limit of services too; both processes know it by now or soon.
			service, _ := w.Person(t, w.front(t, w.a), "orders", "service")
			few := longer
			few.Introspect = limit.Rule{Count: 3, Per: 3 * time.Second}
			here.Want(set(few, ""), 200, "")
			last, begun := e2e.Answer{}, time.Now()
			for let := 0; last.Status != 429; let++ { // the fourth, but for one more each second that goes by
				if let > 3+int(time.Since(begun)/time.Second) {
					t.Fatalf("%d questions are answered within %v", let, time.Since(begun))
				}
				last = here.Post("/v1/introspect", "token=x", "Authorization", "Bearer "+service)
			}
			if last.Header.Get("RateLimit-Policy") != `"introspect";q=3;w=3` || last.Header.Get("Retry-After") != "1" {
				t.Errorf("refused with %v", last.Header)
			}
			for _, token := range w.active {
				here.Alive(token)
			}
		})
	}
}

// front is a client of that process.
func (w *policyWorld) front(t *testing.T, p *e2e.Process) *e2e.Client {
	t.Helper()
	return e2e.NewClient(t, p.Public)
}

// TestUndecidedLoginsAreNotCounted: while the database does not answer, no client uses up
// what they have; guesses count as ever.
func TestUndecidedLoginsAreNotCounted(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	c := e2e.NewClient(t, d.StartLoud(t, "FLAKEPASS_THROTTLE", "on").Public)
	password := e2e.NewPassword()
	c.Want(c.Register("ada", password), 201, "")
	token := c.Login("ada", password)
	db := d.SQL(t)
	e2e.Execute(t, db, "ALTER TABLE users RENAME TO users_away")
	for range 12 {
		c.Want(c.TryLogin("ada", password), 503, "unavailable")
		c.Want(c.TryLogin("nobody", password), 503, "unavailable")
	}
	e2e.Execute(t, db, "ALTER TABLE users_away RENAME TO users")
	for range 5 {
		c.Want(c.TryLogin("nobody", "wrong password, all of them"), 401, "credentials_invalid")
	}
	c.Want(c.TryLogin("nobody", "wrong password, all of them"), 429, "rate_limited")
	c.Want(c.Do("PUT", "/v1/me/password", e2e.Object("current_password", "wrong password, all of them", "new_password", e2e.NewPassword()), e2e.Bearer(token)), 403, "current_password_invalid")
	c.Want(c.TryLogin("ada", password), 200, "")
}
