//go:build unix

package chaos

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// enter registers a user and logs in.
func enter(t *testing.T, i *instance, name string) (credentials, string) {
	t.Helper()
	who := credentials{name, "a lantern above the harbour"}
	register(t, i, who)
	return who, open(t, i, who)
}

// register makes a user. Nothing is broken yet, but the machine may be busy: what is
// undecided is asked again, and may have happened.
func register(t testing.TB, i *instance, who credentials) {
	t.Helper()
	testenv.Eventually(t, patience, func() bool {
		a, text := i.ask(t.Context(), "POST", "/v1/register", "", who)
		if a.status != 201 && a.status != 409 && a.status != 503 {
			t.Fatalf("register: %d %s %v", a.status, text, a.err)
		}
		return a.status != 503
	}, who.Username+" is registered")
}

// open logs a user in, as register does.
func open(t *testing.T, i *instance, who credentials) (token string) {
	t.Helper()
	var opened struct{ Token string }
	testenv.Eventually(t, patience, func() bool {
		a, text := i.ask(t.Context(), "POST", "/v1/login", "", who)
		if err := json.Unmarshal(text, &opened); err != nil || a.status != 200 && a.status != 503 {
			t.Fatalf("login: %d %s %v", a.status, text, a.err)
		}
		return a.status == 200
	}, who.Username+" is logged in")
	return opened.Token
}

// verify returns the status of the answer to whether that token is good. That
// is 200 or, with word of when to come back, 503, for the token is.
func verify(t *testing.T, i *instance, token string) int {
	t.Helper()
	a, _ := i.ask(t.Context(), "GET", "/v1/verify", token, nil)
	if t.Context().Err() == nil && a.status != 200 && (a.status != 503 || a.retryAfter == "") {
		t.Errorf("%s: status %d, code %q, Retry-After %q, %v", a.who, a.status, a.code, a.retryAfter, a.err)
	}
	return a.status
}

// TestDatabaseAwayIsRiddenThroughForTheBound: an instance that is cut off from
// MySQL answers from memory while its horizon is younger than its bound, and
// then, Redis or not, says 503 and when to come back. The bound is what trades
// the one for the other.
func TestDatabaseAwayIsRiddenThroughForTheBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, recipe{instances: 2, bound: time.Second, more: map[int][]string{1: {"FLAKEPASS_REVOCATION_BOUND=5m"}}})
	short, long := w.instances[0], w.instances[1]
	who, token := enter(t, short, "alice")
	for _, i := range w.instances {
		if verify(t, i, token) != 200 {
			t.Fatal("not good before anything broke")
		}
	}
	for _, i := range w.instances {
		i.mysql.Cut(faultproxy.Both)
	}
	testenv.Eventually(t, patience, func() bool { return verify(t, short, token) == 503 }, "the shorter bound is over")
	if a, _ := short.ask(t.Context(), "POST", "/v1/login", "", who); a.status != 503 || a.retryAfter == "" {
		t.Errorf("login: %d, Retry-After %q, want 503", a.status, a.retryAfter)
	}
	if got := verify(t, long, token); got != 200 {
		t.Errorf("within the longer bound: %d, want 200", got)
	}
	if got := verify(t, short, token); got != 503 {
		t.Errorf("past the shorter bound: %d, want 503", got)
	}
	w.heal()
	testenv.Eventually(t, patience, func() bool { return verify(t, short, token) == 200 }, "the database is back")
}

// TestForgottenConnectionsAreFoundOutByThePoll: when a firewall has forgotten
// thirty idle connections, no request after the first few waits in vain, for the
// poll finds out and leaves them all, within the time of one or two requests.
// Tried one by one they would cost as many requests, one after the other, their
// full time. On a slow machine a few are up to ten.
func TestForgottenConnectionsAreFoundOutByThePoll(t *testing.T) {
	t.Parallel()
	const idle, few = 30, 10
	w := newWorld(t, recipe{instances: 1, bound: time.Second})
	i := w.instances[0]
	tokens := tokensOf(w.logins(t, idle, time.Minute, 0))
	w.redis.Kill()
	(&scene{world: w, t: t}).connect(i, idle)
	i.mysql.Forget()
	for n, token := range tokens { // none is in memory
		if verify(t, i, token) == 200 {
			t.Logf("%d times undecided", n)
			if n > few {
				t.Errorf("%d requests waited in vain, want at most %d", n, few)
			}
			return
		}
	}
	t.Error("no request was answered")
}

// TestStampedeLeavesRoomForLogins: with Redis gone and nothing in memory, 500
// tokens at once are 500 questions to the database. Of half of an instance's 32
// connections, three quarters carry such questions at a time, and the rest settles.
// So a login gets through although none of them is answered. More of them would
// starve this process, which sends them all, before they starve the instance.
func TestStampedeLeavesRoomForLogins(t *testing.T) {
	t.Parallel()
	const many, most, half = 500, 12, 16
	w := newWorld(t, recipe{instances: 1, bound: time.Second})
	i := w.instances[0]
	who, _ := enter(t, i, "alice")
	tokens := tokensOf(w.logins(t, many, time.Minute, 0))
	w.redis.Kill()
	// A check is prepared once on each connection, and nothing else is.
	prepares := faultproxy.Matching("LEFT JOIN users ON token_id =")
	i.mysql.HoldReplies(func(request []byte) bool {
		const execute = 23
		return prepares(request) || len(request) > 4 && request[3] == 0 && request[4] == execute
	})
	var all sync.WaitGroup
	var good, undecided atomic.Int64
	for _, token := range tokens {
		all.Go(func() {
			for deadline := time.Now().Add(2 * patience); time.Now().Before(deadline) && t.Context().Err() == nil; {
				if verify(t, i, token) == 200 {
					good.Add(1)
					return
				}
				undecided.Add(1)
				pause(t.Context(), 500*time.Millisecond)
			}
		})
	}
	testenv.Eventually(t, patience, func() bool {
		before, peak := i.mysql.Waiting()
		if before == 0 || peak < most {
			return false
		}
		a, _ := i.ask(t.Context(), "POST", "/v1/login", "", who)
		after, _ := i.mysql.Waiting()
		return a.status == 200 && after > 0
	}, "a user logs in while no question about a token is answered")
	i.mysql.Heal()
	all.Wait()
	// The proxy receives a question that was given up a moment after the next one
	// was sent: it may count one more than there are.
	if _, peak := i.mysql.Waiting(); peak < most || peak > half {
		t.Errorf("%d questions at a time, want %d, and never more than %d", peak, most, half)
	}
	if good.Load() != many {
		t.Errorf("%d of %d tokens were answered in the end", good.Load(), many)
	}
	t.Logf("%d times undecided meanwhile", undecided.Load())
}
