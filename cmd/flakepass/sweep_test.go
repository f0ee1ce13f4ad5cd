package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// sweeping has an admin ask for a pass, and see it in the history.
func sweeping(t *testing.T, w *world) {
	c, password := w.client(t, w.a), newPassword()
	w.keep.password(password)
	must(t, w.vars, password+"\n", "user", "add", "gardener", "--role", "admin", "--password-stdin")
	admin := c.login("gardener", password)
	c.want(c.register("henry", newPassword()), 201, "")
	stale := w.stale(t, "henry")

	c.want(c.do("POST", "/v1/admin/sweeps", ""), 401, "token_missing")
	ordinary := newPassword()
	c.want(c.register("ingrid", ordinary), 201, "")
	c.want(c.do("POST", "/v1/admin/sweeps", "", bearer(c.login("ingrid", ordinary))), 403, "forbidden")

	begun := c.do("POST", "/v1/admin/sweeps", "", bearer(admin))
	for begun.status == 409 { // the one that comes by its schedule
		begun = c.do("POST", "/v1/admin/sweeps", "", bearer(admin))
	}
	id := c.want(begun, 202, "").field("id")
	var shown struct {
		ID, Outcome string
		RequestedBy string `json:"requested_by"`
	}
	testenv.Eventually(t, patience, func() bool {
		var page struct{ Sweeps []json.RawMessage }
		a := w.client(t, w.b).want(c.do("GET", "/v1/admin/sweeps", "", bearer(admin)), 200, "")
		if err := json.Unmarshal(a.body, &page); err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Sweeps {
			if bytes.Contains(s, []byte(`"id":"`+id+`"`)) {
				_ = json.Unmarshal(s, &shown)
			}
		}
		return shown.Outcome == "done"
	}, "the pass is not in the history as done")
	if shown.RequestedBy != "gardener" {
		t.Errorf("the pass was requested by %q", shown.RequestedBy)
	}
	db := w.sql(t)
	if n := count(t, db, "SELECT COUNT(*) FROM users WHERE token_id = ?", stale); n != 0 {
		t.Error("the login that is over is still on its row")
	}
	if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'sweep.requested' AND target_id = ? AND actor = 'gardener'", id); n != 1 {
		t.Errorf("%d events of that request", n)
	}
	c.alive(admin)
	c.want(c.logout(admin), 204, "")
}

// stale gives a user a login of long ago.
func (d *deployment) stale(t testing.TB, name string) (token int64) {
	t.Helper()
	db := d.sql(t)
	token = int64(idworker.Default().Smallest(time.Now().Add(-60*24*time.Hour))) + int64(count(t, db, "SELECT COUNT(*) FROM users"))
	execute(t, db, "UPDATE users SET token_id = ?, token_hash = ?, token_seen_at = 1 WHERE username = ?", token, fmt.Appendf(nil, "%033d", token), name)
	return token
}

// TestSweepCommand counts and clears beside a running server, and says in its
// exit code whether all was cleared.
func TestSweepCommand(t *testing.T) {
	t.Parallel()
	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			d := setup.make(t)
			vars := d.with("FLAKEPASS_AUDIT_EXPIRY", "on")
			i := d.start(t)
			c := newClient(t, i.public)
			db := d.sql(t)
			execute(t, db, "UPDATE settings SET version = 2, sweep_schedule = '0 0 1 1 *' WHERE scope = 'global'")
			testenv.Eventually(t, patience, func() bool { return strings.Contains(i.log.String(), "policy changed") }, "the schedule is not in force")
			for _, name := range []string{"alice", "bobby", "carol", "david"} {
				c.want(c.register(name, newPassword()), 201, "")
				d.stale(t, name)
			}
			password := newPassword()
			c.want(c.register("ellen", password), 201, "")
			token := c.login("ellen", password)

			if r := must(t, vars, "", "sweep", "--dry-run"); r.out != "4 logins would be cleared: 4 expired, 0 revoked, 0 idle; nothing was changed\n" {
				t.Errorf("dry run: %q", r.out)
			}
			if r := must(t, vars, "", "sweep", "--dry-run", "--json"); !strings.Contains(r.out, `"total": 4`) {
				t.Errorf("dry run in JSON: %q", r.out)
			}
			if n := count(t, db, "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL"); n != 5 {
				t.Errorf("%d logins after a dry run, want 5", n)
			}

			trigger := "CREATE TRIGGER poison BEFORE UPDATE ON users FOR EACH ROW " +
				"BEGIN IF NEW.username = 'bobby' AND NEW.token_id IS NULL THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF; END"
			if d.file != "" {
				trigger = "CREATE TRIGGER poison BEFORE UPDATE ON users WHEN NEW.username = 'bobby' AND NEW.token_id IS NULL BEGIN SELECT RAISE(ABORT, 'no'); END"
			}
			execute(t, db, trigger)
			r := command(t, vars, "", "sweep", "--json")
			if r.code != 1 || !strings.Contains(r.out, `"cleared": 3`) || !strings.Contains(r.out, `"failed_rows": 1`) || !strings.Contains(r.errs, "1 rows cannot be cleared") {
				t.Errorf("a poisoned row: exit code %d, %q, %q", r.code, r.out, r.errs)
			}
			execute(t, db, "DROP TRIGGER poison")

			execute(t, db, "UPDATE sweep_state SET lease_until = 9000000000000 - lease_until, pass_id = 7") // not fresh, for it is centuries away
			if r := must(t, vars, "", "sweep"); !strings.HasPrefix(r.out, "1 logins cleared in ") {
				t.Errorf("cured: %q", r.out)
			}
			if n := count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'login.expired'"); n != 4 {
				t.Errorf("%d logins have an event of their expiry", n)
			}
			execute(t, db, "UPDATE sweep_state SET lease_until = ?", time.Now().Add(10*time.Second).UnixMilli())
			if r := command(t, vars, "", "sweep"); r.code != 1 || !strings.Contains(r.errs, "a sweep is running") {
				t.Errorf("beside another: exit code %d, %q", r.code, r.errs)
			}
			if n := count(t, db, "SELECT COUNT(*) FROM sweeps WHERE requested_by LIKE '%@%' AND finished_at IS NOT NULL"); n != 2 {
				t.Errorf("%d commands are in the history, want 2", n)
			}
			c.alive(token)
		})
	}
}
