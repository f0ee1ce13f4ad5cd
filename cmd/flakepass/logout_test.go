package main

import (
	"strings"
	"testing"
)

// TestLogoutOfWhatWasOver: neither the log of the server nor the answer of the
// command takes the second end of a login for the first.
func TestLogoutOfWhatWasOver(t *testing.T) {
	t.Parallel()
	d := onSQLite(t)
	i := d.start(t)
	c := newClient(t, i.public)
	password := newPassword()
	c.want(c.register("alice", password), 201, "")
	token := c.login("alice", password)
	for range 3 {
		c.want(c.logout(token), 204, "")
	}
	if log := i.log.String(); strings.Count(log, "msg=logout ") != 1 || strings.Count(log, `msg="logout of a login that was over"`) != 2 {
		t.Errorf("want one logout and two of what was over in the log:\n%s", log)
	}

	// Idle for long, and still in the row.
	c.alive(c.login("alice", password))
	execute(t, d.sql(t), "UPDATE users SET token_seen_at = token_seen_at - 15 * 24 * 3600 * 1000")
	if r := must(t, d.vars, "", "user", "logout", "alice"); !strings.Contains(r.out, "was over before: idle") {
		t.Errorf("user logout says: %s", r.out)
	}
}
