package lifecycletest

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestEverySecurityEventIsOnRecord: what people do, and what they are refused, is
// in the database when the instance has stopped, and in the log with the name of
// the request; what was typed as an unknown name is in neither.
func TestEverySecurityEventIsOnRecord(t *testing.T) {
	t.Parallel()
	for _, setup := range setups[:2] {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			d := setup.make(t)
			i := d.Start(t, "FLAKEPASS_TOKEN_HEADER", "X-Auth-Token")
			keep := &e2e.Canaries{}
			c := e2e.NewClient(t, i.Public)
			c.Keep = keep
			password := e2e.NewPassword()
			c.Want(c.Register("ada", password), 201, "")
			c.Want(c.Register("bob", password), 201, "")

			for range 3 {
				c.Want(c.TryLogin("ada", e2e.NewPassword()), 401, "credentials_invalid")
			}
			c.Want(c.TryLogin(password, password), 401, "credentials_invalid")
			c.Want(c.TryLogin("nobody.there", password), 401, "credentials_invalid")
			keep.Add("nobody.there", "a name that no account has")

			first := c.Login("ada", password)
			second := c.Login("ada", password)
			c.Dead(first, "token_replaced")
			c.Dead(e2e.Forge(second), "token_invalid")
			c.Dead(flakepass.NewToken(1<<40).Reveal(), "token_expired")
			c.Want(c.Do("GET", "/v1/admin/users", "", e2e.Bearer(second)), 403, "forbidden")
			c.Want(c.Do("GET", "/v1/me", "", e2e.Bearer(second), e2e.Header("X-Auth-Token", first)), 400, "credentials_ambiguous")
			c.Want(c.Do("PUT", "/v1/me/password", e2e.Object("current_password", e2e.NewPassword(), "new_password", e2e.NewPassword()), e2e.Bearer(second)), 403, "current_password_invalid")
			c.Want(c.Logout(second), 204, "")
			c.Want(c.Logout(second), 204, "")
			c.Dead(second, "token_logged_out")
			e2e.Must(t, d.Vars, "", "user", "disable", "bob")
			c.Want(c.TryLogin("bob", password), 403, "account_disabled")
			e2e.Must(t, d.Vars, "", "user", "enable", "bob")

			if err := i.Stop(); err != nil {
				t.Fatal(err)
			}
			db := d.SQL(t)
			e2e.MustRecord(t, db, "login.began", "ada", "ada")
			e2e.MustRecord(t, db, "login.logged_out", "ada")
			e2e.MustRecord(t, db, "login.failed", `ada credentials_invalid {"count":3,`, `credentials_invalid {"count":2,`, `bob account_disabled {"count":1,`)
			e2e.MustRecord(t, db, "token.reused", `ada token_replaced {"count":1,`, `ada token_logged_out {"count":1,`)
			e2e.MustRecord(t, db, "token.forged", `ada token_invalid {"count":1,`)
			e2e.MustRecord(t, db, "token.expired", `token_expired {"count":1,`)
			e2e.MustRecord(t, db, "access.forbidden", `GET /v1/admin/users {"count":1,`)
			e2e.MustRecord(t, db, "access.ambiguous", `credentials_ambiguous {"count":1,`)
			e2e.MustRecord(t, db, "user.password_refused", `ada current_password_invalid {"count":1,`)
			e2e.MustRecord(t, db, "user.disabled", "bob")
			if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'login.began' AND actor = 'ada' AND via = 'api' AND address = '' "+
				"AND target_kind = 'login' AND request_id <> '' AND CAST(old_value AS CHAR) LIKE '%replaced%'"); n != 1 {
				t.Errorf("%d logins that replaced another are on record as ada's", n)
			}
			if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action LIKE 'token.%' AND address LIKE '127.%' AND via = 'api' AND request_id <> ''"); n != 4 {
				t.Errorf("%d refused tokens are on record with an address and a request", n)
			}
			for _, event := range []string{
				"login.began", "login.logged_out", "login.failed", "token.reused", "token.forged", "token.expired", "access.forbidden",
				"access.ambiguous", "user.password_refused", "user.created",
			} {
				line := "event=" + event + " "
				if at := strings.Index(i.Log.String(), line); at < 0 {
					t.Errorf("no line of the log has %s", line)
				}
			}
			keep.Absent(t, "the log", []byte(i.Log.String()))
			for _, action := range []string{"login.failed", "login.throttled"} {
				keep.Absent(t, "the record", []byte(action+strings.Join(e2e.Recorded(t, db, action), "\n")))
			}
			out := e2e.Must(t, d.Vars, "", "audit", "--target", "ada", "--json")
			if !strings.Contains(out.Out, `"login.failed"`) || !strings.Contains(out.Out, `"token.reused"`) {
				t.Errorf("flakepass audit --target ada: %s", out.Out)
			}
		})
	}
}

// TestLoginsNeedNotBeOnRecord: with FLAKEPASS_AUDIT_LOGINS=off a login writes no
// row, and a failure does.
func TestLoginsNeedNotBeOnRecord(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t, "FLAKEPASS_AUDIT_LOGINS", "off")
	c := e2e.NewClient(t, i.Public)
	password := e2e.NewPassword()
	c.Want(c.Register("ada", password), 201, "")
	c.Want(c.TryLogin("ada", e2e.NewPassword()), 401, "credentials_invalid")
	c.Want(c.Logout(c.Login("ada", password)), 204, "")
	if err := i.Stop(); err != nil {
		t.Fatal(err)
	}
	db := d.SQL(t)
	e2e.MustRecord(t, db, "login.began")
	e2e.MustRecord(t, db, "login.logged_out")
	e2e.MustRecord(t, db, "login.failed", "ada credentials_invalid")
	e2e.MustRecord(t, db, "user.created", "ada")
}

// TestGuessedPasswordIsOnRecord: who is refused by a limit, who gives the right
// password after many wrong ones, and who comes from a new place.
func TestGuessedPasswordIsOnRecord(t *testing.T) {
	t.Parallel()
	for _, setup := range setups[:2] {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			d := setup.make(t)
			i := d.Start(t, "FLAKEPASS_THROTTLE", "on", "FLAKEPASS_TRUSTED_PROXIES", "127.0.0.1")
			c := e2e.NewClient(t, i.Public)
			from := func(address string) func(*e2e.Answer, string, int, string) {
				return func(a *e2e.Answer, password string, status int, code string) {
					*a = c.Want(c.Do("POST", "/v1/login", e2e.Object("username", "ada", "password", password), e2e.Header("X-Forwarded-For", address)), status, code)
				}
			}
			var a e2e.Answer
			password := e2e.NewPassword()
			c.Want(c.Register("ada", password), 201, "")
			from("198.51.100.1")(&a, password, 200, "")
			from("198.51.100.1")(&a, password, 200, "")
			for _, address := range []string{"203.0.113.1", "203.0.113.2", "2001:db8:1:2::3"} {
				for range 4 {
					from(address)(&a, e2e.NewPassword(), 401, "credentials_invalid")
				}
			}
			from("203.0.113.9")(&a, password, 200, "")
			from("203.0.113.9")(&a, password, 200, "")
			for range 5 {
				from("203.0.113.4")(&a, e2e.NewPassword(), 401, "credentials_invalid")
			}
			from("203.0.113.4")(&a, e2e.NewPassword(), 429, "rate_limited")
			if err := i.Stop(); err != nil {
				t.Fatal(err)
			}
			db := d.SQL(t)
			e2e.MustRecord(t, db, "login.new_place", `ada new_place {"count":1,`)
			e2e.MustRecord(t, db, "login.after_failures", `ada after_failures {"count":1,`)
			e2e.MustRecord(t, db, "login.throttled", `rate_limited: login-place {"count":1,`)
			e2e.MustRecord(t, db, "login.failed", `ada credentials_invalid {"count":4,`, `ada credentials_invalid {"count":4,`, `ada credentials_invalid {"count":4,`, `ada credentials_invalid {"count":5,`)
			if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE address = '2001:db8:1:2::'"); n != 1 {
				t.Errorf("%d events have the subscriber's network and not the host in it", n)
			}
			if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action IN ('login.new_place', 'login.after_failures') AND address = '203.0.113.9'"); n != 2 {
				t.Errorf("%d hints have the address", n)
			}
			if !strings.Contains(i.Log.String(), "failures=12 ") {
				t.Errorf("the log does not say how many failures: %s", i.Log)
			}
		})
	}
}

// TestOldEventsAreDeletedAfterASweep, by the server on its schedule and by the
// command, and only the old ones.
func TestOldEventsAreDeletedAfterASweep(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	d.Vars["FLAKEPASS_AUDIT_RETENTION"] = "24h"
	i := d.Start(t)
	c := e2e.NewClient(t, i.Public)
	c.Want(c.Register("ada", e2e.NewPassword()), 201, "")
	db := d.SQL(t)
	old := func() {
		t.Helper()
		e2e.Execute(t, db, "INSERT INTO audit_events (id, actor, via, action, old_value, new_value) VALUES (1000, 'x', 'api', 'user.created', X'', X'')")
	}
	left := func() int { return e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE id = 1000") }
	old()
	e2e.Must(t, d.Vars, "", "sweep")
	if n := left(); n != 0 {
		t.Errorf("%d old events are left by the command", n)
	}
	old()
	e2e.Execute(t, db, "UPDATE settings SET version = version + 1, sweep_schedule = '@every 1s' WHERE scope = 'global'")
	testenv.Eventually(t, e2e.Patience, func() bool { return left() == 0 }, "the server has not deleted an old event")
	if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'user.created' AND target = 'ada'"); n != 1 {
		t.Errorf("%d new events are left", n)
	}
}
