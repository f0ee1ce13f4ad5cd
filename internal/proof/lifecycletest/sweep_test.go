package lifecycletest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// sweeping has an admin ask for a pass, and see it in the history.
func sweeping(t *testing.T, w *world) {
	c, password := w.client(t, w.a), e2e.NewPassword()
	w.keep.Password(password)
	e2e.Must(t, w.Vars, password+"\n", "user", "add", "gardener", "--role", "admin", "--password-stdin")
	admin := c.Login("gardener", password)
	c.Want(c.Register("henry", e2e.NewPassword()), 201, "")
	old := stale(t, w.Deployment, "henry")

	c.Want(c.Do("POST", "/v1/admin/sweeps", ""), 401, "token_missing")
	ordinary := e2e.NewPassword()
	c.Want(c.Register("ingrid", ordinary), 201, "")
	c.Want(c.Do("POST", "/v1/admin/sweeps", "", e2e.Bearer(c.Login("ingrid", ordinary))), 403, "forbidden")

	begun := c.Do("POST", "/v1/admin/sweeps", "", e2e.Bearer(admin))
	for begun.Status == 409 { // the one that comes by its schedule
		begun = c.Do("POST", "/v1/admin/sweeps", "", e2e.Bearer(admin))
	}
	id := c.Want(begun, 202, "").Field("id")
	var shown struct {
		ID, Outcome string
		RequestedBy string `json:"requested_by"`
	}
	testenv.Eventually(t, e2e.Patience, func() bool {
		var page struct{ Sweeps []json.RawMessage }
		a := w.client(t, w.b).Want(c.Do("GET", "/v1/admin/sweeps", "", e2e.Bearer(admin)), 200, "")
		if err := json.Unmarshal(a.Body, &page); err != nil {
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
	db := w.SQL(t)
	if n := e2e.Count(t, db, "SELECT COUNT(*) FROM users WHERE token_id = ?", old); n != 0 {
		t.Error("the login that is over is still on its row")
	}
	if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'sweep.requested' AND target_id = ? AND actor = 'gardener'", id); n != 1 {
		t.Errorf("%d events of that request", n)
	}
	c.Alive(admin)
	c.Want(c.Logout(admin), 204, "")
}

// stale gives a user a login of long ago.
func stale(t testing.TB, d *e2e.Deployment, name string) (token int64) {
	t.Helper()
	db := d.SQL(t)
	token = int64(idworker.Default().Smallest(time.Now().Add(-60*24*time.Hour))) + int64(e2e.Count(t, db, "SELECT COUNT(*) FROM users"))
	e2e.Execute(t, db, "UPDATE users SET token_id = ?, token_hash = ?, token_seen_at = 1 WHERE username = ?", token, fmt.Appendf(nil, "%033d", token), name)
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
			vars := d.With("FLAKEPASS_AUDIT_EXPIRY", "on")
			i := d.Start(t)
			c := e2e.NewClient(t, i.Public)
			db := d.SQL(t)
			e2e.Execute(t, db, "UPDATE settings SET version = 2, sweep_schedule = '0 0 1 1 *' WHERE scope = 'global'")
			testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(i.Log.String(), "policy changed") }, "the schedule is not in force")
			for _, name := range []string{"alice", "bobby", "carol", "david"} {
				c.Want(c.Register(name, e2e.NewPassword()), 201, "")
				stale(t, d, name)
			}
			password := e2e.NewPassword()
			c.Want(c.Register("ellen", password), 201, "")
			token := c.Login("ellen", password)

			if r := e2e.Must(t, vars, "", "sweep", "--dry-run"); r.Out != "4 logins would be cleared: 4 expired, 0 revoked, 0 idle; nothing was changed\n" {
				t.Errorf("dry run: %q", r.Out)
			}
			if r := e2e.Must(t, vars, "", "sweep", "--dry-run", "--json"); !strings.Contains(r.Out, `"total": 4`) {
				t.Errorf("dry run in JSON: %q", r.Out)
			}
			if n := e2e.Count(t, db, "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL"); n != 5 {
				t.Errorf("%d logins after a dry run, want 5", n)
			}

			trigger := "CREATE TRIGGER poison BEFORE UPDATE ON users FOR EACH ROW " +
				"BEGIN IF NEW.username = 'bobby' AND NEW.token_id IS NULL THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF; END"
			if d.File != "" {
				trigger = "CREATE TRIGGER poison BEFORE UPDATE ON users WHEN NEW.username = 'bobby' AND NEW.token_id IS NULL BEGIN SELECT RAISE(ABORT, 'no'); END"
			}
			e2e.Execute(t, db, trigger)
			r := e2e.Command(t, vars, "", "sweep", "--json")
			if r.Code != 1 || !strings.Contains(r.Out, `"cleared": 3`) || !strings.Contains(r.Out, `"failed_rows": 1`) || !strings.Contains(r.Errs, "1 rows cannot be cleared") {
				t.Errorf("a poisoned row: exit code %d, %q, %q", r.Code, r.Out, r.Errs)
			}
			e2e.Execute(t, db, "DROP TRIGGER poison")

			e2e.Execute(t, db, "UPDATE sweep_state SET lease_until = 9000000000000 - lease_until, pass_id = 7") // not fresh, for it is centuries away
			if r := e2e.Must(t, vars, "", "sweep"); !strings.HasPrefix(r.Out, "1 logins cleared in ") {
				t.Errorf("cured: %q", r.Out)
			}
			if n := e2e.Count(t, db, "SELECT COUNT(*) FROM audit_events WHERE action = 'login.expired'"); n != 4 {
				t.Errorf("%d logins have an event of their expiry", n)
			}
			e2e.Execute(t, db, "UPDATE sweep_state SET lease_until = ?", time.Now().Add(10*time.Second).UnixMilli())
			if r := e2e.Command(t, vars, "", "sweep"); r.Code != 1 || !strings.Contains(r.Errs, "a sweep is running") {
				t.Errorf("beside another: exit code %d, %q", r.Code, r.Errs)
			}
			if n := e2e.Count(t, db, "SELECT COUNT(*) FROM sweeps WHERE requested_by LIKE '%@%' AND finished_at IS NOT NULL"); n != 2 {
				t.Errorf("%d commands are in the history, want 2", n)
			}
			c.Alive(token)
		})
	}
}
