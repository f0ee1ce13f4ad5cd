//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package memstore_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

// A horizon is a feed whose last poll was then.
type horizon struct{ at atomic.Pointer[time.Time] }

func (h *horizon) Horizon() time.Time {
	if at := h.at.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

func (h *horizon) poll() { now := time.Now(); h.at.Store(&now) }

func openFed(t *testing.T, next session.Store) (*memstore.Sessions, *horizon) {
	t.Helper()
	h := &horizon{}
	return openWith(t, next, memstore.Options{Entries: 100, Bound: bound, Feed: h}), h
}

func TestFreshHorizonCarriesAnAnswerToTheEndOfItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.set(alive(7))
		tier, h := openFed(t, next)
		mustBe(t, tier, 7, "")
		next.fail(errors.New("no route")) // so that nothing is renewed
		start := time.Now()
		for time.Since(start) < session.Life(bound)-time.Second {
			time.Sleep(time.Second)
			h.poll()
			got, err := tier.Get(t.Context(), 7, session.Hash{})
			if err != nil || !got.Alive() || got.Source != session.FromMemory {
				t.Fatalf("after %v: ended %q, from %v, %v; want it from memory", time.Since(start), got.Ended, got.Source, err)
			}
			if relies := time.Since(start) >= bound; relies == got.Horizon.IsZero() {
				t.Errorf("after %v: horizon %v proves nothing", time.Since(start), got.Horizon)
			}
		}
		time.Sleep(time.Second)
		h.poll()
		if got, err := tier.Get(t.Context(), 7, session.Hash{}); err == nil {
			t.Errorf("at the end of its life: %+v", got)
		}
	})
}

func TestStaleHorizonIsNotReliedOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		source session.Source
		asOf   time.Duration // before now
		poll   time.Duration // before now; negative: never
		other  bool          // another server may have replaced the one that was read
		want   bool
	}{
		{"read here, just now, and nothing received ever", session.FromDatabase, 0, -1, false, true},
		{"read here within the bound", session.FromDatabase, bound - 1, bound, false, true},
		{"read here at the bound", session.FromDatabase, bound, bound, false, false},
		{"read here at the bound, received within it", session.FromDatabase, bound, bound - 1, false, true},
		// Another instance's clock said when, and may be wrong.
		{"read by another, and nothing received ever", session.FromRedis, 0, -1, false, false},
		{"read by another, received within the bound", session.FromRedis, 0, bound - 1, false, true},
		{"read by another, received at the bound", session.FromRedis, 0, bound, false, false},
		{"at the end of its life", session.FromDatabase, session.Life(bound), 0, false, false},
		{"in the last moment of its life", session.FromRedis, session.Life(bound) - 1, 0, false, true},
		{"read from one of several servers, received within the bound", session.FromDatabase, 0, bound - 1, true, true},
		{"read from one of several servers, received at the bound", session.FromDatabase, 0, bound, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			next, h := &fake{}, &horizon{}
			var other atomic.Bool
			other.Store(c.other)
			tier := openWith(t, next, memstore.Options{Entries: 100, Bound: bound, Feed: h, Replaceable: &other})
			if c.poll >= 0 {
				h.poll()
			}
			time.Sleep(c.poll)
			s := alive(7)
			s.Source, s.AsOf = c.source, time.Now().Add(-c.asOf)
			next.set(s)
			got, err := tier.Get(t.Context(), 7, session.Hash{})
			if believed := err == nil && got.Alive(); believed != c.want {
				t.Errorf("%s: believed %v, error %v; want believed %v", c.name, believed, err, c.want)
			}
			if err != nil && errors.Is(err, session.ErrNotFound) {
				t.Errorf("%s: not found; want undecided", c.name)
			}
		})
	}
}

func TestLearntEndIsRefusedWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.set(alive(7))
		next.set(alive(8))
		tier, h := openFed(t, next)
		h.poll()
		mustBe(t, tier, 7, "")
		mustBe(t, tier, 8, "")
		tier.ApplyPoll(session.News{Ends: []session.End{{UserID: owner, Floor: 7, Reason: session.LoggedOut}}})
		h.poll()
		mustBe(t, tier, 7, session.LoggedOut)
		mustBe(t, tier, 8, "")
		// Heard again, older and out of order.
		tier.ApplyPoll(session.News{Ends: []session.End{{UserID: owner, Floor: 3, Reason: session.Revoked}}})
		mustBe(t, tier, 7, session.LoggedOut)
		// A later one of the same user: what was below it, it replaced.
		tier.ApplyPoll(session.News{Ends: []session.End{{UserID: owner, Floor: 8, Reason: session.Disabled}}})
		mustBe(t, tier, 8, session.Disabled)
		mustBe(t, tier, 7, session.Replaced)
	})
}

func TestPropagationIsMeasuredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type word struct {
			by    string
			after time.Duration
		}
		var received []word
		tier := openWith(t, &fake{}, memstore.Options{Entries: 100, Bound: bound, Feed: &horizon{},
			Arrived: func(by string, after time.Duration) { received = append(received, word{by, after}) }})
		s := gone(7, session.LoggedOut)
		time.Sleep(time.Millisecond)
		tier.ApplyEnd(s)
		before := session.End{UserID: owner + 1, Floor: 5, At: time.Now().Add(-time.Minute)} // of the time before a restart
		tier.ApplyPoll(session.News{Now: time.Now(), Ends: []session.End{before}})
		end := session.End{UserID: owner, Floor: 7, At: time.Now()}
		tier.ApplyPoll(session.News{Now: time.Now(), Ends: []session.End{end}}) // known already
		time.Sleep(time.Second)
		end.Floor = 9
		news := session.News{Now: end.At.Add(time.Second), Ends: []session.End{end}}
		tier.ApplyPoll(news)
		tier.ApplyPoll(news)
		if err := tier.Publish(t.Context(), gone(11, session.LoggedOut)); err != nil { // this instance's own
			t.Fatal(err)
		}
		if len(received) != 2 || received[0] != (word{"message", time.Millisecond}) || received[1] != (word{"poll", time.Second}) {
			t.Errorf("received %v", received)
		}
	})
}

// What is in use is asked for anew before it has to be, so that an outage finds
// it with half of its life left.
func TestUseRenewsAheadOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.get = func(int) (session.Session, error) { return alive(7), nil }
		tier, h := openFed(t, next)
		mustBe(t, tier, 7, "")
		tick := func() {
			time.Sleep(time.Second)
			h.poll()
			for range 10 {
				mustBe(t, tier, 7, "")
			}
			synctest.Wait()
		}
		half := int(session.Life(bound) / 2 / time.Second)
		for range half - 1 {
			tick()
		}
		if n := next.asked(); n != 1 {
			t.Fatalf("asked %d times in the first half of its life, want once", n)
		}
		tick()
		if n := next.asked(); n != 2 {
			t.Fatalf("asked %d times once past half of its life, want twice", n)
		}
		for range 10 * half {
			tick()
		}
		if n := next.asked(); n != 12 {
			t.Errorf("asked %d times in 11 halves of a life, want 12", n)
		}
	})
}

func TestRenewalThatFailsCostsNoAnswerAndNoStampede(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.set(alive(7))
		tier, h := openFed(t, next)
		mustBe(t, tier, 7, "")
		next.fail(errors.New("no route"))
		life := session.Life(bound)
		for spent := time.Duration(0); spent < life-100*time.Millisecond; spent += 100 * time.Millisecond {
			time.Sleep(100 * time.Millisecond)
			h.poll()
			for range 5 {
				mustBe(t, tier, 7, "")
			}
			synctest.Wait()
		}
		if n := next.asked(); n > 2+int(life/2/time.Second) {
			t.Errorf("asked %d times while the next tier failed; want at most once a second", n)
		}
	})
}

// An end that a renewal finds is an end, also if nobody said so.
func TestRenewalThatFindsAnEndRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.set(alive(7))
		tier, h := openFed(t, next)
		mustBe(t, tier, 7, "")
		next.set(gone(7, session.Idle)) // by a sweep, which the feed does not carry
		time.Sleep(session.Life(bound) / 2)
		h.poll()
		mustBe(t, tier, 7, "") // the last time; it asks
		synctest.Wait()
		mustBe(t, tier, 7, session.Idle)
	})
}

// Redis may hold an answer from before an end that was committed late, and that is
// asked again when the row has refused a use.
func TestEndThatWasReadOutlivesItsEntry(t *testing.T) {
	for _, renewed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			next := &fake{}
			next.set(alive(7))
			tier, h := openFed(t, next)
			if renewed {
				mustBe(t, tier, 7, "")
				time.Sleep(session.Life(bound) / 2)
				h.poll()
				next.set(gone(7, session.LoggedOut))
				mustBe(t, tier, 7, "") // the last time; it asks
				synctest.Wait()
			}
			next.set(gone(7, session.LoggedOut))
			mustBe(t, tier, 7, session.LoggedOut)
			next.set(alive(7))
			tier.Written(7, time.Time{})
			mustBe(t, tier, 7, session.LoggedOut)
		})
	}
}

func TestRenewalKeepsTheLaterTimeOfUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.get = func(int) (session.Session, error) { s := alive(7); s.Seen = time.Now().Add(-time.Hour); return s, nil }
		tier, h := openFed(t, next)
		mustBe(t, tier, 7, "")
		time.Sleep(session.Life(bound) / 2)
		h.poll()
		used := time.Now().Truncate(time.Millisecond)
		tier.Written(7, used)
		mustBe(t, tier, 7, "")
		synctest.Wait()
		if got, err := tier.Get(t.Context(), 7, session.Hash{}); err != nil || !got.Seen.Equal(used) {
			t.Errorf("seen %v, %v; want %v", got.Seen, err, used)
		}
	})
}

// TestDoubtedAnswersAreReadAgain: after a policy that allows fewer sessions, no answer of
// before is believed, wherever it came from; and each of after is.
func TestDoubtedAnswersAreReadAgain(t *testing.T) {
	for _, source := range []session.Source{session.FromDatabase, session.FromRedis} {
		synctest.Test(t, func(t *testing.T) {
			next := &fake{}
			s := alive(7)
			s.Source = source
			next.set(s)
			tier, h := openFed(t, next)
			h.poll()
			mustBe(t, tier, 7, "")
			asked := next.asked()
			tier.Doubt()
			time.Sleep(3 * time.Second)
			h.poll()
			if got, err := tier.Get(t.Context(), 7, session.Hash{}); err == nil {
				t.Errorf("an answer of before, which the next tier repeats: %+v", got)
			}
			s.AsOf = time.Now()
			next.set(s)
			mustBe(t, tier, 7, "")
			again := next.asked()
			mustBe(t, tier, 7, "")
			if asked == again || next.asked() != again {
				t.Errorf("asked %d times before, %d after and %d in the end", asked, again, next.asked())
			}
		})
	}
}

// TestRenamedAreReadAgain: whoever brings an answer of before a rename was received here,
// also a slow reader, it is not given; and the answers about others are.
func TestRenamedAreReadAgain(t *testing.T) {
	for _, source := range []session.Source{session.FromDatabase, session.FromRedis} {
		synctest.Test(t, func(t *testing.T) {
			next := &fake{}
			s := alive(7)
			s.Source = source
			next.set(s)
			tier, h := openFed(t, next)
			h.poll()
			mustBe(t, tier, 7, "")
			rename := session.News{Renames: []session.Rename{{UserID: owner, At: time.Now()}}}
			tier.ApplyPoll(rename)
			time.Sleep(3 * time.Second)
			h.poll()
			if got, err := tier.Get(t.Context(), 7, session.Hash{}); err == nil {
				t.Errorf("an answer of before, which the next tier repeats: %+v", got)
			}
			s.AsOf, s.Username = time.Now(), "ada2"
			next.set(s)
			mustBe(t, tier, 7, "")
			asked := next.asked()
			tier.ApplyPoll(rename) // the windows of polls overlap
			tier.ApplyPoll(session.News{Renames: []session.Rename{{UserID: owner + 1, At: time.Now()}}})
			if got, err := tier.Get(t.Context(), 7, session.Hash{}); err != nil || got.Username != "ada2" || next.asked() != asked {
				t.Errorf("afterwards: %+v, %v, and asked %d times more", got, err, next.asked()-asked)
			}
			many := make([]session.Rename, 1<<14+1)
			for i := range many {
				many[i] = session.Rename{UserID: owner + 10 + idworker.ID(i), At: time.Now()}
			}
			tier.ApplyPoll(session.News{Renames: many})
			time.Sleep(3 * time.Second)
			h.poll()
			if _, err := tier.Get(t.Context(), 7, session.Hash{}); err == nil {
				t.Error("more renames than can be remembered, and an answer of before was given")
			}
		})
	}
}

// TestEndIsReadAgainForItsName: the user of an ended session may be renamed, or be deleted and
// purged. While the next tier cannot answer, what ended stays refused.
func TestEndIsReadAgainForItsName(t *testing.T) {
	for name, end := range map[string]func(*memstore.Sessions, *fake){
		"it was read": func(_ *memstore.Sessions, next *fake) { next.set(gone(7, session.LoggedOut)) },
		"it was received": func(tier *memstore.Sessions, next *fake) {
			next.set(alive(7))
			mustBe(t, tier, 7, "")
			tier.ApplyEnd(gone(7, session.LoggedOut))
			next.set(gone(7, session.LoggedOut))
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			next := &fake{}
			tier, h := openFed(t, next)
			h.poll()
			end(tier, next)
			mustBe(t, tier, 7, session.LoggedOut)
			asked := next.asked()
			mustBe(t, tier, 7, session.LoggedOut)
			if next.asked() != asked {
				t.Errorf("%s: asked again at once", name)
			}
			is := func(username string) {
				t.Helper()
				if got, err := tier.Get(t.Context(), 7, session.Hash{}); err != nil || got.Ended != session.LoggedOut || got.Username != username {
					t.Errorf("%s: ended %q of %q, %v; want of %q", name, got.Ended, got.Username, err, username)
				}
			}
			time.Sleep(time.Second)
			tier.ApplyPoll(session.News{Renames: []session.Rename{{UserID: owner, At: time.Now()}}})
			is("ada") // the next tier does not know of the rename yet
			time.Sleep(time.Second)
			next.fail(errors.New("no route"))
			is("ada")
			next.fail(nil)
			renamed := gone(7, session.LoggedOut)
			renamed.Username = "ada2"
			next.set(renamed)
			is("ada2")
			time.Sleep(session.Life(bound))
			next.fail(errors.New("no route"))
			is("ada2")
			is("ada2")
			next.fail(session.ErrNotFound)
			if _, err := tier.Get(t.Context(), 7, session.Hash{}); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("%s: after the purge: %v", name, err)
			}
		})
	}
}
