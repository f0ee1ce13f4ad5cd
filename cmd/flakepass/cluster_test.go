package main

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// logoutReaches logs out on a and fails the test unless b refuses the token in
// time. It returns the answer to the logout.
func logoutReaches(t *testing.T, a, b *client, name, password string) answer {
	t.Helper()
	token := a.login(name, password)
	b.alive(token) // now b believes it for the bound
	a.alive(token)
	told := a.logout(token)
	ended := time.Now()
	a.dead(token, "token_logged_out") // the one that answered refuses at once
	soon(t, b, token, "token_logged_out", ended)
	for range 3 {
		b.dead(token, "token_logged_out")
	}
	return told
}

// TestLogoutReachesEveryInstance: within the bound without Redis, and with a
// Redis that stands still or is gone; and at once, which nobody measures here,
// with one that works.
func TestLogoutReachesEveryInstance(t *testing.T) {
	t.Parallel()
	t.Run("without Redis", func(t *testing.T) {
		t.Parallel()
		for _, d := range []*deployment{onMySQLAlone(t), onSQLite(t)} {
			a, b := newClient(t, d.start(t).public), newClient(t, d.start(t).public)
			password := newPassword()
			a.want(a.register("alice", password), 201, "")
			for range 2 {
				a.want(logoutReaches(t, a, b, "alice", password), 204, "")
			}
		}
	})
	t.Run("with Redis", func(t *testing.T) {
		t.Parallel()
		d := onMySQL(t)
		one := d.start(t)
		a, b := newClient(t, one.public), newClient(t, d.start(t).public)
		password := newPassword()
		a.want(a.register("alice", password), 201, "")
		a.want(logoutReaches(t, a, b, "alice", password), 204, "")

		d.redis.Pause()
		for range 2 {
			told := a.want(logoutReaches(t, a, b, "alice", password), 202, "")
			if ms, _ := told.fields["effective_within_ms"].(float64); ms != float64(bound.Milliseconds()) {
				t.Errorf("got %s, want the bound", told.body)
			}
		}
		d.redis.Resume()
		testenv.Eventually(t, patience, func() bool {
			return logoutReaches(t, a, b, "alice", password).status == 204
		}, "Redis is told again")

		d.redis.Kill()
		a.want(logoutReaches(t, a, b, "alice", password), 202, "")
		d.redis.Start() // empty
		testenv.Eventually(t, patience, func() bool {
			return logoutReaches(t, b, a, "alice", password).status == 204
		}, "the new Redis is told")
	})
}

// TestInstanceGoesAwayAndOthersGoOn: what one instance answered holds on the
// others after it has stopped, touches and worker numbers included.
func TestInstanceGoesAwayAndOthersGoOn(t *testing.T) {
	t.Parallel()
	d := onMySQLAlone(t)
	one := d.start(t)
	a := newClient(t, one.public)
	password := newPassword()
	a.want(a.register("alice", password), 201, "")
	before := a.want(a.tryLogin("alice", password), 200, "")
	b := newClient(t, d.start(t).public)
	b.alive(before.field("token"))
	if err := one.stop(); err != nil {
		t.Fatal(err)
	}
	b.alive(before.field("token"))
	after := b.want(b.tryLogin("alice", password), 200, "")
	if len(after.field("session_id")) == len(before.field("session_id")) && after.field("session_id") <= before.field("session_id") {
		t.Errorf("session %s comes after %s", after.field("session_id"), before.field("session_id"))
	}
	b.dead(before.field("token"), "token_replaced")
	if n := count(t, d.sql(t), "SELECT COUNT(*) FROM worker_nodes WHERE owner_token <> ''"); n != 1 {
		t.Errorf("%d worker numbers are taken, want that of the one instance", n)
	}
}
