package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestLimitsActAtOnceOnEveryProcess: a change of the policy holds at the next
// attempt where it was made, and elsewhere when that is heard; it ends no login, and
// lets nobody off who had used up what there was.
func TestLimitsActAtOnceOnEveryProcess(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			w := newPolicyWorld(t, setup.make)
			vars := w.with("FLAKEPASS_THROTTLE", "on", "FLAKEPASS_TRUSTED_PROXIES", "127.0.0.1")
			a, b := startProcess(t, t.TempDir(), vars), startProcess(t, t.TempDir(), vars)
			here, there := newClient(t, a.public), newClient(t, b.public)
			w.admin = here
			guess := func(c *client, name, address string, status int) answer {
				t.Helper()
				code := map[int]string{401: "credentials_invalid", 429: "rate_limited"}[status]
				return c.want(c.do("POST", "/v1/login", object("username", name, "password", "wrong password, all of them"), header("X-Forwarded-For", address)), status, code)
			}
			set := func(l limit.Limits, more string) answer {
				t.Helper()
				text, err := limit.Encode(&l)
				if err != nil {
					t.Fatal(err)
				}
				tag := w.admin.want(w.ask("GET", "/v1/admin/policy", ""), 200, "").header.Get("ETag")
				return w.ask("PUT", "/v1/admin/policy"+more, wantedPolicy(14*24*3600, "0 0 1 1 *", `,"limits":`+string(text)), header("If-Match", tag))
			}
			for range 5 {
				guess(here, "ada", "192.0.2.1", 401)
			}
			guess(here, "ada", "192.0.2.1", 429)

			// It asks for no confirmation, for it ends nothing.
			longer := limit.Default()
			longer.LoginPlace = [limit.MaxPlace]limit.Rule{{Count: 6, Per: time.Hour}, {Count: 50, Per: 24 * time.Hour}}
			for _, more := range []string{"?dry_run=true", ""} {
				if made := here.want(set(longer, more), 200, ""); !bytes.Contains(made.body, []byte(`"ends_now":{"count":0,"error":0}`)) ||
					!bytes.Contains(made.body, []byte(`"login_place":[{"count":6,"period_seconds":3600}`)) {
					t.Errorf("changed: %s", made.body)
				}
			}
			limited := func(a answer) {
				t.Helper()
				if got := a.header.Get("RateLimit-Policy"); got != `"login";q=6;w=3600` {
					t.Errorf("refused by %s", got)
				}
			}
			limited(guess(here, "ada", "192.0.2.1", 429)) // not let off
			for range 6 {
				guess(here, "bob", "192.0.2.1", 401) // by the new rule, at once
			}
			limited(guess(here, "bob", "192.0.2.1", 429))

			line := fmt.Sprintf(`"policy changed" version=%d `, 2)
			testenv.Eventually(t, patience, func() bool { return strings.Contains(b.log.String(), line) }, "the other process has not heard of the policy")
			if w.vars["FLAKEPASS_REDIS"] != "" { // all count together
				limited(guess(there, "ada", "192.0.2.1", 429))
			}
			for range 6 {
				guess(there, "zoe", "192.0.2.1", 401)
			}
			limited(guess(there, "zoe", "192.0.2.1", 429))

			// The limit of services too; both processes know it by now or soon.
			service, _ := w.person(t, w.front(t, w.a), "orders", "service")
			few := longer
			few.Introspect = limit.Rule{Count: 3, Per: 3 * time.Second}
			here.want(set(few, ""), 200, "")
			last, begun := answer{}, time.Now()
			for let := 0; last.status != 429; let++ { // the fourth, but for one more each second that goes by
				if let > 3+int(time.Since(begun)/time.Second) {
					t.Fatalf("%d questions are answered within %v", let, time.Since(begun))
				}
				last = here.post("/v1/introspect", "token=x", "Authorization", "Bearer "+service)
			}
			if last.header.Get("RateLimit-Policy") != `"introspect";q=3;w=3` || last.header.Get("Retry-After") != "1" {
				t.Errorf("refused with %v", last.header)
			}
			for _, token := range w.active {
				here.alive(token)
			}
		})
	}
}

// front is a client of that process.
func (w *policyWorld) front(t *testing.T, p *process) *client {
	t.Helper()
	return newClient(t, p.public)
}

// TestUndecidedLoginsAreNotCounted: while the database cannot tell, nobody uses up
// what they have; guesses count as ever.
func TestUndecidedLoginsAreNotCounted(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	c := newClient(t, d.startLoud(t, "FLAKEPASS_THROTTLE", "on").public)
	password := newPassword()
	c.want(c.register("ada", password), 201, "")
	token := c.login("ada", password)
	db := d.sql(t)
	execute(t, db, "ALTER TABLE users RENAME TO users_away")
	for range 12 {
		c.want(c.tryLogin("ada", password), 503, "unavailable")
		c.want(c.tryLogin("nobody", password), 503, "unavailable")
	}
	execute(t, db, "ALTER TABLE users_away RENAME TO users")
	for range 5 {
		c.want(c.tryLogin("nobody", "wrong password, all of them"), 401, "credentials_invalid")
	}
	c.want(c.tryLogin("nobody", "wrong password, all of them"), 429, "rate_limited")
	c.want(c.do("PUT", "/v1/me/password", object("current_password", "wrong password, all of them", "new_password", newPassword()), bearer(token)), 403, "current_password_invalid")
	c.want(c.tryLogin("ada", password), 200, "")
}
