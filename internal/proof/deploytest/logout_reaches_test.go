package deploytest

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// logoutReaches logs out on a and fails the test unless b refuses the token in
// time. It returns the answer to the logout.
func logoutReaches(t *testing.T, a, b *e2e.Client, name, password string) e2e.Answer {
	t.Helper()
	token := a.Login(name, password)
	b.Alive(token) // now b has cached it
	a.Alive(token)
	answer := a.Logout(token)
	ended := time.Now()
	a.Dead(token, "token_logged_out") // the instance that answered refuses at once
	e2e.Soon(t, b, token, "token_logged_out", ended)
	for range 3 {
		b.Dead(token, "token_logged_out")
	}
	return answer
}

// TestLogoutReachesEveryInstance: within the bound without Redis, and with a
// Redis that stands still or is stopped. With a Redis that works it takes
// milliseconds, which is not measured here.
func TestLogoutReachesEveryInstance(t *testing.T) {
	t.Parallel()
	t.Run("without Redis", func(t *testing.T) {
		t.Parallel()
		for name, begin := range map[string]func(testing.TB) *e2e.Deployment{"MySQL": e2e.OnMySQLAlone, "SQLite": e2e.OnSQLite} {
			t.Run(name, func(t *testing.T) { // of its own: without a MySQL only that one is skipped
				t.Parallel()
				d := begin(t)
				a, b := e2e.NewClient(t, d.Start(t).Public), e2e.NewClient(t, d.Start(t).Public)
				password := e2e.NewPassword()
				a.Want(a.Register("alice", password), 201, "")
				for range 2 {
					a.Want(logoutReaches(t, a, b, "alice", password), 204, "")
				}
			})
		}
	})
	t.Run("with Redis", func(t *testing.T) {
		t.Parallel()
		d := e2e.OnMySQL(t)
		one := d.Start(t)
		a, b := e2e.NewClient(t, one.Public), e2e.NewClient(t, d.Start(t).Public)
		password := e2e.NewPassword()
		a.Want(a.Register("alice", password), 201, "")
		a.Want(logoutReaches(t, a, b, "alice", password), 204, "")

		d.Redis.Pause()
		for range 2 {
			answer := a.Want(logoutReaches(t, a, b, "alice", password), 202, "")
			if ms, _ := answer.Fields["effective_within_ms"].(float64); ms != float64(e2e.Bound.Milliseconds()) {
				t.Errorf("got %s, want the bound", answer.Body)
			}
		}
		d.Redis.Resume()
		testenv.Eventually(t, e2e.Patience, func() bool {
			return logoutReaches(t, a, b, "alice", password).Status == 204
		}, "messages go through Redis again")

		d.Redis.Kill()
		a.Want(logoutReaches(t, a, b, "alice", password), 202, "")
		d.Redis.Start() // empty
		testenv.Eventually(t, e2e.Patience, func() bool {
			return logoutReaches(t, b, a, "alice", password).Status == 204
		}, "messages go through the new Redis")
	})
}

// TestOtherInstancesGoOnAfterOneHasStopped: what one instance answered holds on the
// others after it has stopped, touches and worker numbers included.
func TestOtherInstancesGoOnAfterOneHasStopped(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQLAlone(t)
	one := d.Start(t)
	a := e2e.NewClient(t, one.Public)
	password := e2e.NewPassword()
	a.Want(a.Register("alice", password), 201, "")
	before := a.Want(a.TryLogin("alice", password), 200, "")
	b := e2e.NewClient(t, d.Start(t).Public)
	b.Alive(before.Field("token"))
	if err := one.Stop(); err != nil {
		t.Fatal(err)
	}
	b.Alive(before.Field("token"))
	after := b.Want(b.TryLogin("alice", password), 200, "")
	if len(after.Field("session_id")) == len(before.Field("session_id")) && after.Field("session_id") <= before.Field("session_id") {
		t.Errorf("session %s comes after %s", after.Field("session_id"), before.Field("session_id"))
	}
	b.Dead(before.Field("token"), "token_replaced")
	if n := e2e.Count(t, d.SQL(t), "SELECT COUNT(*) FROM worker_nodes WHERE owner_token <> ''"); n != 1 {
		t.Errorf("%d worker numbers are taken, want that of the one instance", n)
	}
}
