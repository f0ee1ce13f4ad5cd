package main

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// ends reports whether a statement ends a login: it stamps the floor.
func ends(statement string) bool {
	return strings.HasPrefix(statement, "UPDATE users") && strings.Contains(statement, "ended_reason")
}

// once meets the first statement that f means with that fate, and counts it.
func once(f func(string) bool, what fate) (judge func(string) fate, met *atomic.Int32) {
	met = new(atomic.Int32)
	return func(statement string) fate {
		if f(statement) && met.CompareAndSwap(0, 1) {
			return what
		}
		return passes
	}, met
}

// TestCommitUnknown cuts the connection to MySQL around the commit of a logout and
// of a login. Whatever the caller is told, it has happened or it has not: on every
// instance, and asked again it is done.
func TestCommitUnknown(t *testing.T) {
	t.Parallel()
	d := onMySQLAlone(t)
	proxy, through := between(t, d)
	here, there := newClient(t, d.startLoud(t, through...).public), newClient(t, d.start(t).public)
	password := newPassword()
	here.want(here.register("ada", password), 201, "")
	for name, what := range map[string]fate{"before": neverSent, "after": noReply} {
		// The logout.
		token := here.login("ada", password)
		there.alive(token)
		var ending atomic.Bool // a logout is a transaction: its end, and the event of it
		judge, met := once(func(statement string) bool {
			if ends(statement) {
				ending.Store(true)
			}
			return statement == "COMMIT" && ending.Load()
		}, what)
		proxy.decide(judge)
		told := here.logout(token)
		asked := time.Now()
		proxy.pass()
		if met.Load() == 0 {
			t.Fatal("no statement ended a login")
		}
		t.Logf("logout, cut %s the commit: %d %s", name, told.status, told.field("code"))
		row := count(t, d.sql(t), "SELECT COUNT(*) FROM users WHERE token_id IS NULL")
		switch {
		case told.status == 204:
			here.dead(token, "token_logged_out")
			soon(t, there, token, "token_logged_out", asked)
		case told.status != 503:
			t.Fatalf("logout: %d, want 204 or 503", told.status)
		case what == noReply && row == 0:
			t.Error("the database has answered, and the login lives")
		case row == 1: // it has happened, although nobody could say so
			soon(t, here, token, "token_logged_out", asked)
			soon(t, there, token, "token_logged_out", asked)
		default:
			here.alive(token)
			there.alive(token)
		}
		here.want(here.logout(token), 204, "")
		asked = time.Now()
		here.dead(token, "token_logged_out")
		soon(t, there, token, "token_logged_out", asked)

		// The login.
		token = here.login("ada", password)
		there.alive(token)
		judge, met = once(func(statement string) bool { return statement == "COMMIT" }, what)
		proxy.decide(judge)
		told = here.tryLogin("ada", password)
		asked = time.Now()
		proxy.pass()
		if met.Load() == 0 {
			t.Fatal("no statement committed a login")
		}
		t.Logf("login, cut %s the commit: %d %s", name, told.status, told.field("code"))
		if told.status == 200 {
			here.alive(told.field("token"))
			there.alive(told.field("token"))
		}
		replaced := count(t, d.sql(t), "SELECT COUNT(*) FROM users WHERE ended_reason = 'replaced'") == 1
		if what == noReply && !replaced {
			t.Error("the database has answered, and the login is not replaced")
		}
		if replaced {
			soon(t, here, token, "token_replaced", asked)
			soon(t, there, token, "token_replaced", asked)
		} else {
			here.alive(token)
			there.alive(token)
		}
		token = here.login("ada", password)
		here.alive(token)
		there.alive(token)
		here.want(here.logout(token), 204, "")
		soon(t, there, token, "token_logged_out", time.Now())
	}
}

// TestFeedOutOfOrderCommit holds the commit of a login back for nearly as long as
// a change may take. What it replaced was stamped long before; other ends, stamped
// later, are heard of meanwhile.
func TestFeedOutOfOrderCommit(t *testing.T) {
	t.Parallel()
	d := onMySQLAlone(t)
	proxy, through := between(t, d)
	here, there := newClient(t, d.start(t, through...).public), newClient(t, d.start(t).public)
	ada, bob := newPassword(), newPassword()
	here.want(here.register("ada", ada), 201, "")
	here.want(here.register("bob", bob), 201, "")
	testenv.Eventually(t, patience, func() bool {
		token := here.login("ada", ada)
		there.alive(token)
		held := make(chan struct{})
		var met atomic.Int32
		proxy.decide(func(statement string) fate {
			if statement == "COMMIT" && met.CompareAndSwap(0, 1) {
				close(held)
				<-time.After(2700 * time.Millisecond)
			}
			return passes
		})
		told := make(chan answer, 1)
		go func() { told <- here.tryLogin("ada", ada) }()
		<-held
		other := there.login("bob", bob)
		here.alive(other)
		there.want(there.logout(other), 204, "")
		soon(t, here, other, "token_logged_out", time.Now()) // polls go by
		a := <-told
		proxy.pass()
		if a.status != 200 { // the machine stood still, and the change took too long
			return false
		}
		soon(t, there, token, "token_replaced", time.Now())
		there.alive(a.field("token"))
		return true
	}, "a commit is held back and comes in time")
}
