//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// in runs a test in a house of that many instances.
func in(t *testing.T, instances int, do func(t *testing.T, h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, instances)
		defer func() { h.stop() }()
		do(t, h)
	})
}

// TestRemoteAnswersAsTheServerDoes: it answers as the server does.
func TestRemoteAnswersAsTheServerDoes(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		r := h.remote(newNetwork(h.places[0]), nil)
		alice, bob := h.login("zoë", "user"), h.login("bob", "user")
		h.logout(bob, h.places[0], true)
		want := h.good(h.places[0].session, alice)
		for range 2 { // asked, and remembered
			if got := h.good(r, alice); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
		h.bad(r, bob, flakepass.ErrLoggedOut)
		h.bad(r, flakepass.NewToken(alice.ID()), flakepass.ErrInvalid)
		h.bad(r, flakepass.NewToken(alice.ID()+1), flakepass.ErrInvalid)
		h.bad(r, flakepass.Token{}, flakepass.ErrMissing)
	})
}

// TestRemoteRepeatsWhatItKnows: with the stream, what is in use costs a few calls
// a minute.
func TestRemoteRepeatsWhatItKnows(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		r := h.remote(n, nil)
		alice := h.login("alice", "user")
		h.good(r, alice)
		time.Sleep(2 * time.Second)
		before := n.calls.Load()
		for range 600 {
			h.good(r, alice)
			time.Sleep(100 * time.Millisecond)
		}
		if calls := n.calls.Load() - before; calls > 10 {
			t.Errorf("%d calls for one token in a minute", calls)
		}
	})
}

// TestRemoteWithoutTheStreamAsksEveryMaxStale: then MaxStale is the limit.
func TestRemoteWithoutTheStreamAsksEveryMaxStale(t *testing.T) {
	for _, c := range []struct {
		maxStale time.Duration
		calls    int64
	}{{0, 10}, {-1, 100}, {2 * time.Second, 5}, {time.Hour, 3}} { // at 4 s and something the bound is near
		in(t, 1, func(t *testing.T, h *house) {
			n := newNetwork(h.places[0])
			r, end := h.remoteAlone(n, func(o *flakepass.RemoteOptions) { o.MaxStale = c.maxStale })
			defer end()
			alice := h.login("alice", "user")
			time.Sleep(1500 * time.Millisecond)
			for range 100 {
				h.good(r, alice)
				time.Sleep(100 * time.Millisecond)
			}
			if got := n.calls.Load(); got < c.calls-1 || got > c.calls+1 {
				t.Errorf("MaxStale %v: %d calls in 10 s, want about %d", c.maxStale, got, c.calls)
			}
		})
	}
}

// TestRemoteReceivesALogout: at once, whichever instance it was at.
func TestRemoteReceivesALogout(t *testing.T) {
	in(t, 2, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		n.back = 3 * time.Millisecond
		r := h.remote(n, nil)
		tokens := h.people(2)
		for i, token := range tokens {
			h.good(r, token)
			time.Sleep(3 * time.Second)
			before := n.calls.Load()
			h.logout(token, h.places[i], true)
			time.Sleep(5 * time.Millisecond)
			h.bad(r, token, flakepass.ErrLoggedOut)
			if n.calls.Load() != before {
				t.Error("the server was asked; want the stream to say it")
			}
		}
	})
}

// TestRemoteHoldsTheBoundWhateverIsLost: with everything lost that can be.
func TestRemoteHoldsTheBoundWhateverIsLost(t *testing.T) {
	for name, trouble := range troubles() {
		for _, maxStale := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprintf("%s, %v", name, maxStale), func(t *testing.T) {
				in(t, 3, func(t *testing.T, h *house) { holdsTheBound(t, h, maxStale, trouble) })
			})
		}
	}
}

// troubles are what may be in the way of news.
func troubles() map[string]func(*house, *network) {
	return map[string]func(*house, *network){
		"nothing":               func(*house, *network) {},
		"stream held back":      func(_ *house, n *network) { n.hold() },
		"all down":              func(_ *house, n *network) { n.set(func(n *network) { n.down = true }); n.cut() },
		"answers slow":          func(_ *house, n *network) { n.set(func(n *network) { n.back = 1500 * time.Millisecond }) },
		"stream cut":            func(_ *house, n *network) { n.cut() },
		"instance without news": func(h *house, _ *network) { h.places[0].away.Store(true) },
		"blind, and slow": func(h *house, n *network) {
			h.places[0].away.Store(true)
			n.set(func(n *network) { n.back = 1500 * time.Millisecond })
		},
		"blind, slow, no stream": func(h *house, n *network) {
			h.places[0].away.Store(true)
			n.set(func(n *network) { n.back = 1500 * time.Millisecond })
			n.hold()
		},
		"to another, blind one": func(h *house, n *network) {
			h.places[1].away.Store(true)
			n.set(func(n *network) { n.to = h.places[1] })
			n.cut()
		},
	}
}

func holdsTheBound(t *testing.T, h *house, maxStale time.Duration, trouble func(*house, *network)) {
	t.Helper()
	n := newNetwork(h.places[0])
	r := h.remote(n, func(o *flakepass.RemoteOptions) { o.MaxStale = maxStale })
	alice := h.login("alice", "user")
	for range 100 {
		h.good(r, alice)
		time.Sleep(100 * time.Millisecond)
	}
	trouble(h, n)
	h.logout(alice, h.places[2], false) // the others find out by their polls
	acknowledged := time.Now()
	var clients sync.WaitGroup
	for c := range 2 { // of whom one may join the question of the other
		clients.Go(func() {
			for time.Since(acknowledged) < 4*remoteBound {
				asked := time.Now()
				_, err := r.Verify(context.Background(), alice)
				if late := asked.Sub(acknowledged); err == nil && late >= remoteBound {
					t.Errorf("accepted %v after the logout was acknowledged", late)
					return
				}
				time.Sleep(time.Duration(37+13*c) * time.Millisecond)
			}
		})
	}
	clients.Wait()
}

// TestRemoteGapIsNoticed: a stream that begins anew does not vouch for what
// ended between the last and itself.
func TestRemoteGapIsNoticed(t *testing.T) {
	for _, instances := range []int{1, 2} { // the same again, and another
		in(t, instances, func(t *testing.T, h *house) {
			n := newNetwork(h.places[0])
			r := h.remote(n, nil)
			tokens := h.people(2)
			for range 50 {
				for _, token := range tokens {
					h.good(r, token)
				}
				time.Sleep(100 * time.Millisecond)
			}
			n.set(func(n *network) { n.down = true })
			n.cut()
			time.Sleep(2 * time.Second)
			h.logout(tokens[0], h.places[0], true)
			time.Sleep(25 * time.Second) // no instance publishes that by itself any more
			n.set(func(n *network) { n.to, n.down = h.places[instances-1], false })
			time.Sleep(6 * time.Second)
			h.bad(r, tokens[0], flakepass.ErrLoggedOut)
			h.good(r, tokens[1])
		})
	}
}

// TestRemoteStreamsJoinWithoutAGap: what is remembered outlasts a stream that
// breaks off, also when the next comes from another instance.
func TestRemoteStreamsJoinWithoutAGap(t *testing.T) {
	in(t, 2, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		r := h.remote(n, func(o *flakepass.RemoteOptions) { o.MaxStale = -1 })
		alice := h.login("alice", "user")
		time.Sleep(3 * time.Second)
		h.good(r, alice)
		time.Sleep(3 * time.Second)
		before := n.calls.Load()
		for i := range 8 {
			n.set(func(n *network) { n.to = h.places[i%2] })
			n.cut()
			time.Sleep(1500 * time.Millisecond)
			h.good(r, alice)
		}
		if calls := n.calls.Load() - before; calls != 0 {
			t.Errorf("asked %d times, want what was remembered to be good on", calls)
		}
	})
}

// TestRemoteSlowAnswerDoesNotRevive: an answer from before the end, which comes
// after word of the end.
func TestRemoteSlowAnswerDoesNotRevive(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		r := h.remote(n, nil)
		alice := h.login("alice", "user")
		time.Sleep(3300 * time.Millisecond) // between two beats, which must not be slow
		n.set(func(n *network) { n.back = 1500 * time.Millisecond })
		answer := make(chan error)
		go func() { _, err := r.Verify(context.Background(), alice); answer <- err }()
		time.Sleep(10 * time.Millisecond) // it is on its way back
		n.set(func(n *network) { n.back = 0 })
		h.logout(alice, h.places[0], true)
		if err := <-answer; !errors.Is(err, flakepass.ErrLoggedOut) {
			t.Errorf("the slow answer: %v, want that the end was received", err)
		}
		for range 20 {
			h.bad(r, alice, flakepass.ErrLoggedOut)
			time.Sleep(time.Second)
		}
	})
}

// TestRemoteIsGoodForTheBoundWithoutTheServer: what is in use stays good for about the bound, then
// it is undecided; and no 401 ever.
func TestRemoteIsGoodForTheBoundWithoutTheServer(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		r := h.remote(n, nil)
		alice := h.login("alice", "user")
		for range 100 {
			h.good(r, alice)
			time.Sleep(100 * time.Millisecond)
		}
		n.set(func(n *network) { n.down = true })
		n.cut()
		gone := time.Now()
		var lasted time.Duration
		for time.Since(gone) < 2*remoteBound {
			_, err := r.Verify(context.Background(), alice)
			if _, refused := errors.AsType[*flakepass.Refusal](err); refused {
				t.Fatalf("refused while the server is away: %v", err)
			}
			if err == nil {
				lasted = time.Since(gone)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if lasted < remoteBound-2200*time.Millisecond || lasted > remoteBound {
			t.Errorf("good for %v without the server, want a little less than %v", lasted, remoteBound)
		}
		n.set(func(n *network) { n.down = false })
		h.good(r, alice)
	})
}

// TestRemoteAsksTogether: many tokens at once are few calls, and many questions
// about one are one.
func TestRemoteAsksTogether(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		n.out = 5 * time.Millisecond
		r, end := h.remoteAlone(n, nil)
		defer end()
		tokens := h.people(400)
		var all sync.WaitGroup
		for _, token := range tokens {
			for range 3 {
				all.Go(func() { h.good(r, token) })
			}
		}
		all.Wait()
		if calls := n.calls.Load(); calls > 8 {
			t.Errorf("%d calls for 1,200 questions about 400 tokens", calls)
		}
	})
}

// TestRemoteDoesNotWaitWhenIdle: one question goes at once.
func TestRemoteDoesNotWaitWhenIdle(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		r, end := h.remoteAlone(newNetwork(h.places[0]), nil)
		defer end()
		alice := h.login("alice", "user")
		before := time.Now()
		h.good(r, alice)
		if d := time.Since(before); d > 0 {
			t.Errorf("waited %v for no one", d)
		}
	})
}

// TestRemoteUsesKeepALoginAlive: one that is used through a Remote alone does
// not go idle, and one that is not used does.
func TestRemoteUsesKeepALoginAlive(t *testing.T) {
	for _, touch := range []time.Duration{time.Second, time.Minute, 150 * time.Second} {
		in(t, 1, func(t *testing.T, h *house) {
			p := policy.Default()
			p.Idle, p.Touch = 5*time.Minute, touch
			h.truth.change(p)
			time.Sleep(2 * time.Second)
			r := h.remote(newNetwork(h.places[0]), nil)
			used, rare, unused := h.login("used", "user"), h.login("rare", "user"), h.login("unused", "user")
			h.good(r, unused)
			h.good(r, rare)
			for i := range 60 * 30 {
				h.good(r, used)
				if i%270 == 269 {
					h.good(r, rare)
				}
				time.Sleep(time.Second)
				if age := time.Since(h.truth.seen(session.IDOf(used))); age > touch+5*time.Second {
					t.Fatalf("touch %v: last seen %v ago, used all the time", touch, age)
				}
			}
			h.bad(r, unused, flakepass.ErrIdle)
		})
	}
}

// TestRemoteReportsWhatTheRowSays: a use that the server has taken note of counts
// when the row has it.
func TestRemoteReportsWhatTheRowSays(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		r := h.remote(newNetwork(h.places[0]), nil)
		alice := h.login("alice", "user")
		first := h.good(r, alice)
		h.truth.lost.Store(true) // what was used since is not written
		for range 90 {
			time.Sleep(time.Second)
			if got := h.good(r, alice); got != first {
				t.Fatalf("got  %+v\nwant %+v", got, first)
			}
		}
		h.truth.lost.Store(false)
		for range 90 {
			h.good(r, alice)
			time.Sleep(time.Second)
		}
		if got := h.good(r, alice); !got.LastSeenAt.After(first.LastSeenAt) || got.LastSeenAt.After(h.truth.seen(session.IDOf(alice))) {
			t.Errorf("last seen at %v; the row says %v", got.LastSeenAt, h.truth.seen(session.IDOf(alice)))
		}
	})
}

// TestRemotePassiveRequestsAreNoUses: a login that is only polled goes idle,
// also if somebody asks in earnest about another at the same time, and one that
// is used beside being polled does not.
func TestRemotePassiveRequestsAreNoUses(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		p := policy.Default()
		p.Idle, p.Touch = 5*time.Minute, time.Second
		h.truth.change(p)
		time.Sleep(2 * time.Second)
		r := h.remote(newNetwork(h.places[0]), nil)
		polled, both := h.login("polled", "user"), h.login("both", "user")
		passive := flakepass.NewPassiveContext(t.Context())
		for i := range 280 {
			var all sync.WaitGroup
			all.Go(func() { _, _ = r.Verify(passive, polled) })
			all.Go(func() { _, _ = r.Verify(passive, both) })
			if i%30 == 29 {
				all.Go(func() { h.good(r, both) })
			}
			all.Wait()
			time.Sleep(time.Second)
		}
		if _, err := r.Verify(passive, polled); err != nil {
			t.Errorf("before its time: %v", err)
		}
		time.Sleep(21 * time.Second)
		if _, err := r.Verify(passive, polled); !errors.Is(err, flakepass.ErrIdle) {
			t.Errorf("polled for longer than the idle timeout: %v", err)
		}
		h.good(r, both)
	})
}

// TestRemoteFollowsThePolicy: a change acts on what is remembered. What a policy
// ends that a later one may save is the server's to say; what every later policy
// ends, too, the Remote refuses by itself.
func TestRemoteFollowsThePolicy(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		r := h.remote(n, nil)
		alice := h.login("alice", "user")
		for range 600 {
			h.good(r, alice)
			time.Sleep(time.Second)
		}
		h.renewed()
		n.cut()
		time.Sleep(time.Second)
		p := policy.Default()
		p.Idle, p.Absolute = 5*time.Minute, 5*time.Minute
		h.truth.change(p)
		time.Sleep(2500 * time.Millisecond)
		before := n.calls.Load()
		h.bad(r, alice, flakepass.ErrExpired)
		if n.calls.Load() == before {
			t.Error("refused by a policy that another may have replaced; want the server asked")
		}
		h.truth.change(policy.Default()) // longer again: nothing comes back
		time.Sleep(2500 * time.Millisecond)
		before = n.calls.Load()
		h.bad(r, alice, flakepass.ErrExpired)
		if n.calls.Load() != before {
			t.Error("the server was asked about a token that is too old under every policy to come")
		}
		h.good(r, h.login("bob", "user"))
	})
}

// TestRemoteGoesByTheTimesOfARole: shorter or longer than those of the policy, also after
// another change; and one of an earlier version, which knows no overrides, says the same.
func TestRemoteGoesByTheTimesOfARole(t *testing.T) {
	for _, older := range []bool{false, true} {
		in(t, 1, func(t *testing.T, h *house) {
			n := newNetwork(h.places[0])
			r := h.remote(n, func(o *flakepass.RemoteOptions) {
				if older {
					o.Client = &http.Client{Transport: olderNetwork{n}}
				}
			})
			alice, guest, root := h.login("alice", "user"), h.login("guest", "guest"), h.login("root", "admin")
			p := policy.Default()
			p.Overrides = []policy.Override{
				{Scope: policy.Scope{Role: "guest"}, Idle: 40 * time.Second},
				{Scope: policy.Scope{Role: "admin"}, Idle: 30 * time.Minute, Absolute: 80 * time.Minute},
				{Scope: policy.Scope{Role: "service"}, Absolute: 24 * time.Hour}, // that of this Remote
			}
			p.Idle, p.Absolute = 10*time.Minute, 40*time.Minute
			h.truth.change(p)
			time.Sleep(3 * time.Second)
			for range 6 {
				for _, token := range []flakepass.Token{alice, guest, root} {
					h.good(r, token)
				}
				time.Sleep(15 * time.Second)
			}
			for _, token := range []flakepass.Token{alice, guest, root} {
				h.good(r, token)
			}
			time.Sleep(45 * time.Second) // an answer is repeated for longer
			h.good(r, alice)
			h.bad(r, guest, flakepass.ErrIdle)
			time.Sleep(11 * time.Minute)
			h.bad(r, alice, flakepass.ErrIdle)
			h.good(r, root)
			for range 2 {
				time.Sleep(20 * time.Minute)
				h.good(r, root)
			}
			p.Touch = 2 * time.Minute
			h.truth.change(p) // the policy has ended by now what is younger than this login
			time.Sleep(3 * time.Second)
			h.good(r, root)
			time.Sleep(20 * time.Minute)
			h.good(r, root)
			time.Sleep(10 * time.Minute)
			h.bad(r, root, flakepass.ErrExpired)
		})
	}
}

// TestRemoteKnowsTheSlotOfAnEnd: an end in one slot of a user says nothing about the others,
// whatever their IDs are, and reaches who repeats an answer of that slot.
func TestRemoteKnowsTheSlotOfAnEnd(t *testing.T) {
	for ends := range 3 {
		in(t, 1, func(t *testing.T, h *house) {
			n := newNetwork(h.places[0])
			r := h.remote(n, nil)
			tokens := h.people(3)
			h.further(tokens)
			h.several()
			for range 6 { // until the stream is relied on
				for _, token := range tokens {
					h.good(r, token)
				}
				time.Sleep(time.Second)
			}
			before := n.calls.Load()
			h.logout(tokens[ends], h.places[0], true)
			time.Sleep(5 * time.Millisecond)
			for i, token := range tokens {
				if i == ends {
					h.bad(r, token, flakepass.ErrLoggedOut)
				} else {
					h.good(r, token)
				}
			}
			if n.calls.Load() != before {
				t.Errorf("slot %d: the server was asked; want the stream to say it", ends)
			}
		})
	}
}

// An older network is that of a Remote of an earlier version, which does not say that it
// knows of slots.
type olderNetwork struct{ *network }

func (n olderNetwork) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Del("X-Auth-Slots")
	return n.network.RoundTrip(req)
}

// TestOlderRemoteAsksEachTime where a user may have several sessions: it would not understand
// the end of one in a further slot, and take that of one in slot 0 for the end of all. Before
// that it repeats answers, and hears of ends.
func TestOlderRemoteAsksEachTime(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		r := h.remote(n, func(o *flakepass.RemoteOptions) { o.Client = &http.Client{Transport: olderNetwork{n}} })
		tokens := h.people(3)
		h.further(tokens)
		asked := func(tokens ...flakepass.Token) int64 {
			before := n.calls.Load()
			for _, token := range tokens {
				h.good(r, token)
			}
			return n.calls.Load() - before
		}
		for range 6 {
			asked(tokens...)
			time.Sleep(time.Second)
		}
		if n := asked(tokens...); n != 0 {
			t.Errorf("one session a user: asked %d times of 3, want none", n)
		}
		h.several()
		time.Sleep(3 * time.Second)
		for range 6 {
			asked(tokens...)
			time.Sleep(time.Second)
		}
		if n := asked(append(tokens, tokens...)...); n != 6 {
			t.Errorf("several sessions a user: asked %d times of 6", n)
		}
		// The one in slot 2 is the newest: its ID is above those that live.
		for _, i := range []int{2, 0} {
			h.logout(tokens[i], h.places[0], true)
			time.Sleep(3 * time.Second)
			h.bad(r, tokens[i], flakepass.ErrLoggedOut)
			h.good(r, tokens[1])
		}
		// Slot 0 again, with an ID above that of the one that lives.
		tokens[0] = h.login("again", "user")
		h.truth.mu.Lock()
		h.truth.rows[session.IDOf(tokens[0])].UserID = 77
		h.truth.mu.Unlock()
		h.good(r, tokens[0])
		h.logout(tokens[0], h.places[0], true)
		time.Sleep(3 * time.Second)
		h.bad(r, tokens[0], flakepass.ErrLoggedOut)
		h.good(r, tokens[1])
	})
}

// TestFollowerThatKnowsNoSlotsGetsNoEnds where a user may have several sessions, and no
// horizon, on which it would rely; one that knows them gets both.
func TestFollowerThatKnowsNoSlotsGetsNoEnds(t *testing.T) {
	for _, knows := range []string{"", "1"} {
		in(t, 1, func(t *testing.T, h *house) {
			tokens := h.people(2)
			h.further(tokens)
			h.several()
			time.Sleep(3 * time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://auth.test/v1/revocations", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+h.mine().Reveal())
			req.Header.Set("X-Auth-Slots", knows)
			resp, err := newNetwork(h.places[0]).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			read := make(chan string)
			go func() {
				text, _ := io.ReadAll(resp.Body)
				read <- string(text)
			}()
			for _, token := range tokens {
				h.logout(token, h.places[0], true)
			}
			time.Sleep(3 * time.Second)
			cancel()
			text := <-read
			for _, part := range []string{"event: end\n", "event: slot_end\n", "horizon_age_ms"} {
				if strings.Contains(text, part) != (knows == "1") {
					t.Errorf("knows %q: %q in %s", knows, part, text)
				}
			}
			if !strings.Contains(text, "event: beat\n") || !strings.Contains(text, "event: policy\n") {
				t.Errorf("knows %q: no beat or no policy in %s", knows, text)
			}
		})
	}
}

// TestRemoteDoubtsWhatWasSaidUnderAnotherPolicy: a policy that allows fewer sessions ends
// some, and no end of them may have come yet. An answer that is still under way when the
// policy comes is not repeated either.
func TestRemoteDoubtsWhatWasSaidUnderAnotherPolicy(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		r := h.remote(n, func(o *flakepass.RemoteOptions) { o.Timeout = 20 * time.Second })
		token := h.people(1)[0]
		for range 6 {
			h.good(r, token)
			time.Sleep(time.Second)
		}
		asked := make(chan struct{})
		other := h.login("other", "user")
		n.set(func(n *network) { n.back = 4 * time.Second }) // of this answer
		go func() { defer close(asked); h.good(r, other) }()
		time.Sleep(time.Millisecond)
		n.set(func(n *network) { n.back = 0 })
		h.truth.change(policy.Default())
		<-asked
		for _, token := range []flakepass.Token{token, other} {
			before := n.calls.Load()
			h.good(r, token)
			if n.calls.Load() == before {
				t.Error("an answer of before the change was repeated")
			}
		}
	})
}

// TestRemoteRepeatsNoAnswerByAnOlderPolicy: a Remote has the policy in force from the stream of
// one instance, and asks another, which has not heard of it. That one may accept what a
// lower limit has ended.
func TestRemoteRepeatsNoAnswerByAnOlderPolicy(t *testing.T) {
	in(t, 2, func(t *testing.T, h *house) {
		token := h.people(1)[0]
		h.good(h.places[1].session, token)
		h.good(h.places[1].session, h.mine())
		h.places[1].away.Store(true)
		h.truth.change(policy.Default())
		time.Sleep(1500 * time.Millisecond) // the other one polls
		n := newNetwork(h.places[0])
		r := h.remote(n, nil)
		time.Sleep(time.Second) // it has the policy
		n.set(func(n *network) { n.to = h.places[1] })
		for want := n.calls.Load() + 1; want < 4; want++ {
			h.good(r, token)
			if got := n.calls.Load(); got != want {
				t.Fatalf("asked %d times, want %d", got, want)
			}
		}
	})
}

// TestRemoteReceivesTheFloor: all users can be logged out.
func TestRemoteReceivesTheFloor(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		r := h.remote(n, nil)
		alice := h.login("alice", "user")
		h.good(r, alice)
		time.Sleep(time.Millisecond)
		h.renewed()
		n.cut()
		time.Sleep(2 * time.Second)
		h.truth.mu.Lock()
		h.truth.floor = session.IDOf(alice)
		h.truth.mu.Unlock()
		time.Sleep(2500 * time.Millisecond)
		h.bad(r, alice, flakepass.ErrRevoked)
	})
}

// TestRemoteWhoseOwnCredentialIsDead: no user gets its 401.
func TestRemoteWhoseOwnCredentialIsDead(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		var failed []error
		var mu sync.Mutex
		r := h.remote(newNetwork(h.places[0]), func(o *flakepass.RemoteOptions) {
			o.Failed = func(err error) { mu.Lock(); failed = append(failed, err); mu.Unlock() }
		})
		alice := h.login("alice", "user")
		h.good(r, alice)
		h.logout(h.mine(), h.places[0], true)
		time.Sleep(2 * remoteBound)
		_, err := r.Verify(context.Background(), alice)
		if _, refused := errors.AsType[*flakepass.Refusal](err); refused || !errors.Is(err, flakepass.ErrCredential) {
			t.Errorf("got %v, want that the credential is refused", err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(failed) == 0 || !errors.Is(failed[len(failed)-1], flakepass.ErrCredential) {
			t.Errorf("Failed received %v", failed)
		}
	})
	// What keeps the credential may be a Remote's own user, with a refusal.
	in(t, 1, func(t *testing.T, h *house) {
		r, end := h.remoteAlone(newNetwork(h.places[0]), func(o *flakepass.RemoteOptions) {
			o.Credential = func(context.Context) (flakepass.Token, error) { return flakepass.Token{}, flakepass.ErrLoggedOut }
		})
		defer end()
		_, err := r.Verify(context.Background(), h.login("alice", "user"))
		if _, refused := errors.AsType[*flakepass.Refusal](err); err == nil || refused {
			t.Errorf("got %v, want an error that is no refusal", err)
		}
	})
}

// TestRemoteAsksAboutAnImpersonation each time: it says who acts and when that is over, and no
// rule of the policy makes it last for longer, nor does an end have to reach it.
func TestRemoteAsksAboutAnImpersonation(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		n := newNetwork(h.places[0])
		r := h.remote(n, func(*flakepass.RemoteOptions) {})
		tokens := h.people(2)
		h.truth.mu.Lock()
		for _, token := range tokens {
			row := h.truth.rows[session.IDOf(token)]
			row.Act, row.Slot = 7, session.SlotOfAct
		}
		h.truth.mu.Unlock()
		// Others than a Remote are told so.
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://auth.test/v1/verifications", strings.NewReader(`{"tokens":["`+tokens[1].Reveal()+`"]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+h.mine().Reveal())
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Auth-Slots", "1")
		resp, err := n.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil || !strings.Contains(string(text), `"believe_ms":0,`) || !strings.Contains(string(text), `"act":{"sub":"7"}`) {
			t.Errorf("%s, %v", text, err)
		}
		h.good(r, tokens[1])
		h.logout(tokens[1], h.places[0], false)
		h.bad(r, tokens[1], flakepass.ErrLoggedOut)
		began := time.Now()
		for time.Since(began) < time.Hour-time.Minute {
			for range 2 {
				before := n.calls.Load()
				if who := h.good(r, tokens[0]); who.Act != 7 || !who.ExpiresAt.Equal(who.IssuedAt.Add(time.Hour)) || who.IdleExpiresAt != who.ExpiresAt {
					t.Fatalf("%+v", who)
				}
				if n.calls.Load() == before {
					t.Fatal("an answer was repeated")
				}
			}
			time.Sleep(6*time.Minute - time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond)
		h.bad(r, tokens[0], flakepass.ErrExpired)
	})
}
