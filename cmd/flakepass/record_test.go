package main

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// recorded are the events of an action, each as "target reason new", oldest
// first.
func recorded(t testing.TB, db *sql.DB, action string) (list []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT target, reason, new_value FROM audit_events WHERE action = ? ORDER BY id", action)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var target, reason string
		var value []byte
		if err := rows.Scan(&target, &reason, &value); err != nil {
			t.Fatal(err)
		}
		list = append(list, strings.TrimSpace(fmt.Sprint(target, " ", reason, " ", string(value))))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// mustRecord fails the test unless there are events of that action that begin
// so, in any order, and no others.
func mustRecord(t *testing.T, db *sql.DB, action string, want ...string) {
	t.Helper()
	got := recorded(t, db, action)
	ok := len(got) == len(want)
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || strings.HasPrefix(g, w)
		}
		ok = ok && found
	}
	if !ok {
		t.Errorf("%s is on record as\n  %s\nwant\n  %s", action, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// TestEverySecurityEventIsOnRecord: what people do, and what they are refused, is
// in the database when the instance has stopped, and in the log with the name of
// the request; what was typed as an unknown name is in neither.
func TestEverySecurityEventIsOnRecord(t *testing.T) {
	t.Parallel()
	for _, setup := range setups[:2] {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			d := setup.make(t)
			i := d.start(t, "FLAKEPASS_TOKEN_HEADER", "X-Auth-Token")
			keep := &canaries{}
			c := newClient(t, i.public)
			c.keep = keep
			password := newPassword()
			c.want(c.register("ada", password), 201, "")
			c.want(c.register("bob", password), 201, "")

			for range 3 {
				c.want(c.tryLogin("ada", newPassword()), 401, "credentials_invalid")
			}
			c.want(c.tryLogin(password, password), 401, "credentials_invalid")
			c.want(c.tryLogin("nobody.there", password), 401, "credentials_invalid")
			keep.add("nobody.there", "a name that nobody has")

			first := c.login("ada", password)
			second := c.login("ada", password)
			c.dead(first, "token_replaced")
			c.dead(forge(second), "token_invalid")
			c.dead(flakepass.NewToken(1<<40).Reveal(), "token_expired")
			c.want(c.do("GET", "/v1/admin/users", "", bearer(second)), 403, "forbidden")
			c.want(c.do("GET", "/v1/me", "", bearer(second), header("X-Auth-Token", first)), 400, "credentials_ambiguous")
			c.want(c.do("PUT", "/v1/me/password", object("current_password", newPassword(), "new_password", newPassword()), bearer(second)), 403, "current_password_invalid")
			c.want(c.logout(second), 204, "")
			c.want(c.logout(second), 204, "")
			c.dead(second, "token_logged_out")
			must(t, d.vars, "", "user", "disable", "bob")
			c.want(c.tryLogin("bob", password), 403, "account_disabled")
			must(t, d.vars, "", "user", "enable", "bob")

			if err := i.stop(); err != nil {
				t.Fatal(err)
			}
			db := d.sql(t)
			mustRecord(t, db, "login.began", "ada", "ada")
			mustRecord(t, db, "login.logged_out", "ada")
			mustRecord(t, db, "login.failed", `ada credentials_invalid {"count":3,`, `credentials_invalid {"count":2,`, `bob account_disabled {"count":1,`)
			mustRecord(t, db, "token.reused", `ada token_replaced {"count":1,`, `ada token_logged_out {"count":1,`)
			mustRecord(t, db, "token.forged", `ada token_invalid {"count":1,`)
			mustRecord(t, db, "token.expired", `token_expired {"count":1,`)
			mustRecord(t, db, "access.forbidden", `GET /v1/admin/users {"count":1,`)
			mustRecord(t, db, "access.ambiguous", `credentials_ambiguous {"count":1,`)
			mustRecord(t, db, "user.password_refused", `ada current_password_invalid {"count":1,`)
			mustRecord(t, db, "user.disabled", "bob")
			if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'login.began' AND actor = 'ada' AND via = 'api' AND address = '' "+
				"AND target_kind = 'login' AND request_id <> '' AND CAST(old_value AS CHAR) LIKE '%replaced%'"); n != 1 {
				t.Errorf("%d logins that replaced another are on record as ada's", n)
			}
			if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action LIKE 'token.%' AND address LIKE '127.%' AND via = 'api' AND request_id <> ''"); n != 4 {
				t.Errorf("%d refused tokens are on record with an address and a request", n)
			}
			for _, event := range []string{
				"login.began", "login.logged_out", "login.failed", "token.reused", "token.forged", "token.expired", "access.forbidden",
				"access.ambiguous", "user.password_refused", "user.created",
			} {
				line := "event=" + event + " "
				if at := strings.Index(i.log.String(), line); at < 0 {
					t.Errorf("no line of the log has %s", line)
				}
			}
			keep.absent(t, "the log", []byte(i.log.String()))
			for _, action := range []string{"login.failed", "login.throttled"} {
				keep.absent(t, "the record", []byte(action+strings.Join(recorded(t, db, action), "\n")))
			}
			out := must(t, d.vars, "", "audit", "--target", "ada", "--json")
			if !strings.Contains(out.out, `"login.failed"`) || !strings.Contains(out.out, `"token.reused"`) {
				t.Errorf("flakepass audit --target ada: %s", out.out)
			}
		})
	}
}

// TestLoginsNeedNotBeOnRecord: with FLAKEPASS_AUDIT_LOGINS=off a login writes no
// row, and a failure does.
func TestLoginsNeedNotBeOnRecord(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	i := d.start(t, "FLAKEPASS_AUDIT_LOGINS", "off")
	c := newClient(t, i.public)
	password := newPassword()
	c.want(c.register("ada", password), 201, "")
	c.want(c.tryLogin("ada", newPassword()), 401, "credentials_invalid")
	c.want(c.logout(c.login("ada", password)), 204, "")
	if err := i.stop(); err != nil {
		t.Fatal(err)
	}
	db := d.sql(t)
	mustRecord(t, db, "login.began")
	mustRecord(t, db, "login.logged_out")
	mustRecord(t, db, "login.failed", "ada credentials_invalid")
	mustRecord(t, db, "user.created", "ada")
}

// TestGuessedPasswordIsOnRecord: who is refused by a limit, who gives the right
// password after many wrong ones, and who comes from a new place.
func TestGuessedPasswordIsOnRecord(t *testing.T) {
	t.Parallel()
	for _, setup := range setups[:2] {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			d := setup.make(t)
			i := d.start(t, "FLAKEPASS_THROTTLE", "on", "FLAKEPASS_TRUSTED_PROXIES", "127.0.0.1")
			c := newClient(t, i.public)
			from := func(address string) func(*answer, string, int, string) {
				return func(a *answer, password string, status int, code string) {
					*a = c.want(c.do("POST", "/v1/login", object("username", "ada", "password", password), header("X-Forwarded-For", address)), status, code)
				}
			}
			var a answer
			password := newPassword()
			c.want(c.register("ada", password), 201, "")
			from("198.51.100.1")(&a, password, 200, "")
			from("198.51.100.1")(&a, password, 200, "")
			for _, address := range []string{"203.0.113.1", "203.0.113.2", "2001:db8:1:2::3"} {
				for range 4 {
					from(address)(&a, newPassword(), 401, "credentials_invalid")
				}
			}
			from("203.0.113.9")(&a, password, 200, "")
			from("203.0.113.9")(&a, password, 200, "")
			for range 5 {
				from("203.0.113.4")(&a, newPassword(), 401, "credentials_invalid")
			}
			from("203.0.113.4")(&a, newPassword(), 429, "rate_limited")
			if err := i.stop(); err != nil {
				t.Fatal(err)
			}
			db := d.sql(t)
			mustRecord(t, db, "login.new_place", `ada new_place {"count":1,`)
			mustRecord(t, db, "login.after_failures", `ada after_failures {"count":1,`)
			mustRecord(t, db, "login.throttled", `rate_limited: login {"count":1,`)
			mustRecord(t, db, "login.failed", `ada credentials_invalid {"count":4,`, `ada credentials_invalid {"count":4,`, `ada credentials_invalid {"count":4,`, `ada credentials_invalid {"count":5,`)
			if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE address = '2001:db8:1:2::'"); n != 1 {
				t.Errorf("%d events have the subscriber's network and not the host in it", n)
			}
			if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action IN ('login.new_place', 'login.after_failures') AND address = '203.0.113.9'"); n != 2 {
				t.Errorf("%d hints have the address", n)
			}
			if !strings.Contains(i.log.String(), "failures=12 ") {
				t.Errorf("the log does not say how many failures: %s", i.log)
			}
		})
	}
}

// TestOldEventsAreDeletedAfterASweep, by the server on its schedule and by the
// command, and only the old ones.
func TestOldEventsAreDeletedAfterASweep(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	d.vars["FLAKEPASS_AUDIT_RETENTION"] = "24h"
	i := d.start(t)
	c := newClient(t, i.public)
	c.want(c.register("ada", newPassword()), 201, "")
	db := d.sql(t)
	old := func() {
		t.Helper()
		execute(t, db, "INSERT INTO audit_events (id, actor, via, action, old_value, new_value) VALUES (1000, 'x', 'api', 'user.created', X'', X'')")
	}
	left := func() int { return count(t, db, "SELECT COUNT(*) FROM audit_events WHERE id = 1000") }
	old()
	must(t, d.vars, "", "sweep")
	if n := left(); n != 0 {
		t.Errorf("%d old events are left by the command", n)
	}
	old()
	execute(t, db, "UPDATE settings SET version = version + 1, sweep_schedule = '@every 1s' WHERE scope = 'global'")
	testenv.Eventually(t, patience, func() bool { return left() == 0 }, "the server has not deleted an old event")
	if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'user.created' AND target = 'ada'"); n != 1 {
		t.Errorf("%d new events are left", n)
	}
}
