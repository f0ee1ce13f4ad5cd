package deploytest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// once meets the first statement that f means with that fate, and counts it.
func once(f func(string) bool, what e2e.Fate) (judge func(string) e2e.Fate, met *atomic.Int32) {
	met = new(atomic.Int32)
	return func(statement string) e2e.Fate {
		if f(statement) && met.CompareAndSwap(0, 1) {
			return what
		}
		return e2e.Passes
	}, met
}

// TestCommitUnknown cuts the connection to MySQL around the commit of a logout and
// of a login. Whatever the answer is, it has happened or it has not: on every
// instance, and asked again it is done.
func TestCommitUnknown(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQLAlone(t)
	proxy, through := e2e.Between(t, d)
	here, there := e2e.NewClient(t, d.StartLoud(t, through...).Public), e2e.NewClient(t, d.Start(t).Public)
	password := e2e.NewPassword()
	here.Want(here.Register("ada", password), 201, "")
	for name, what := range map[string]e2e.Fate{"before": e2e.NeverSent, "after": e2e.NoReply} {
		// The logout.
		token := here.Login("ada", password)
		there.Alive(token)
		var ending atomic.Bool // a logout is a transaction: its end, and the event of it
		judge, met := once(func(statement string) bool {
			if e2e.Ends(statement) {
				ending.Store(true)
			}
			return statement == "COMMIT" && ending.Load()
		}, what)
		proxy.Decide(judge)
		answer := here.Logout(token)
		asked := time.Now()
		proxy.Pass()
		if met.Load() == 0 {
			t.Fatal("no statement ended a login")
		}
		t.Logf("logout, cut %s the commit: %d %s", name, answer.Status, answer.Field("code"))
		row := e2e.Count(t, d.SQL(t), "SELECT COUNT(*) FROM users WHERE token_id IS NULL")
		switch {
		case answer.Status == 204:
			here.Dead(token, "token_logged_out")
			e2e.Soon(t, there, token, "token_logged_out", asked)
		case answer.Status != 503:
			t.Fatalf("logout: %d, want 204 or 503", answer.Status)
		case what == e2e.NoReply && row == 0:
			t.Error("the database has answered, and the login lives")
		case row == 1: // it has happened, although no answer says so
			e2e.Soon(t, here, token, "token_logged_out", asked)
			e2e.Soon(t, there, token, "token_logged_out", asked)
		default:
			here.Alive(token)
			there.Alive(token)
		}
		here.Want(here.Logout(token), 204, "")
		asked = time.Now()
		here.Dead(token, "token_logged_out")
		e2e.Soon(t, there, token, "token_logged_out", asked)

		// The login.
		token = here.Login("ada", password)
		there.Alive(token)
		judge, met = once(func(statement string) bool { return statement == "COMMIT" }, what)
		proxy.Decide(judge)
		answer = here.TryLogin("ada", password)
		asked = time.Now()
		proxy.Pass()
		if met.Load() == 0 {
			t.Fatal("no statement committed a login")
		}
		t.Logf("login, cut %s the commit: %d %s", name, answer.Status, answer.Field("code"))
		if answer.Status == 200 {
			here.Alive(answer.Field("token"))
			there.Alive(answer.Field("token"))
		}
		replaced := e2e.Count(t, d.SQL(t), "SELECT COUNT(*) FROM users WHERE ended_reason = 'replaced'") == 1
		if what == e2e.NoReply && !replaced {
			t.Error("the database has answered, and the login is not replaced")
		}
		if replaced {
			e2e.Soon(t, here, token, "token_replaced", asked)
			e2e.Soon(t, there, token, "token_replaced", asked)
		} else {
			here.Alive(token)
			there.Alive(token)
		}
		token = here.Login("ada", password)
		here.Alive(token)
		there.Alive(token)
		here.Want(here.Logout(token), 204, "")
		e2e.Soon(t, there, token, "token_logged_out", time.Now())
	}
}

// TestFeedOutOfOrderCommit holds the commit of a login back for nearly as long as
// a change may take. What it replaced was stamped long before; other ends, stamped
// later, arrive meanwhile.
func TestFeedOutOfOrderCommit(t *testing.T) {
	t.Parallel()
	d := e2e.OnMySQLAlone(t)
	proxy, through := e2e.Between(t, d)
	// Loud: a machine that stands still makes the login take too long, which is logged, and the
	// next try comes in time.
	here, there := e2e.NewClient(t, d.StartLoud(t, through...).Public), e2e.NewClient(t, d.Start(t).Public)
	ada, bob := e2e.NewPassword(), e2e.NewPassword()
	here.Want(here.Register("ada", ada), 201, "")
	here.Want(here.Register("bob", bob), 201, "")
	testenv.Eventually(t, e2e.Patience, func() bool {
		token := here.Login("ada", ada)
		there.Alive(token)
		held := make(chan struct{})
		var met atomic.Int32
		proxy.Decide(func(statement string) e2e.Fate {
			if statement == "COMMIT" && met.CompareAndSwap(0, 1) {
				close(held)
				<-time.After(2700 * time.Millisecond)
			}
			return e2e.Passes
		})
		answer := make(chan e2e.Answer, 1)
		go func() { answer <- here.TryLogin("ada", ada) }()
		select {
		case <-held:
		case <-answer: // the machine stood still, and the login failed before its commit
			proxy.Pass()
			return false
		}
		other := there.Login("bob", bob)
		here.Alive(other)
		there.Want(there.Logout(other), 204, "")
		e2e.Soon(t, here, other, "token_logged_out", time.Now()) // polls go by
		a := <-answer
		proxy.Pass()
		if a.Status != 200 { // the machine stood still, and the change took too long
			return false
		}
		e2e.Soon(t, there, token, "token_replaced", time.Now())
		there.Alive(a.Field("token"))
		return true
	}, "a commit is held back and comes in time")
}
