package deploytest

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestLogoutOfWhatWasOver: neither the log of the server nor the answer of the
// command takes the second end of a login for the first.
func TestLogoutOfWhatWasOver(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	i := d.Start(t)
	c := e2e.NewClient(t, i.Public)
	password := e2e.NewPassword()
	c.Want(c.Register("alice", password), 201, "")
	token := c.Login("alice", password)
	for range 3 {
		c.Want(c.Logout(token), 204, "")
	}
	if log := i.Log.String(); strings.Count(log, "msg=logout ") != 1 || strings.Count(log, `msg="logout of a login that was over"`) != 2 {
		t.Errorf("want one logout and two of what was over in the log:\n%s", log)
	}

	// Idle for long, and still in the row.
	c.Alive(c.Login("alice", password))
	e2e.Execute(t, d.SQL(t), "UPDATE users SET token_seen_at = token_seen_at - 15 * 24 * 3600 * 1000")
	if r := e2e.Must(t, d.Vars, "", "user", "logout", "alice"); !strings.Contains(r.Out, "was over before: idle") {
		t.Errorf("user logout says: %s", r.Out)
	}
}
