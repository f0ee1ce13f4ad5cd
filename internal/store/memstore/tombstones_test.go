//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package memstore_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

func TestTombstonesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tier := open(t, &fake{})
		const burst, after = 10_000, 20_000
		user := idworker.ID(1 << 22)
		end := func(n int) {
			for range n {
				user += 1 << 22
				s := gone(7, session.LoggedOut)
				s.UserID = user
				tier.ApplyEnd(s)
			}
		}
		end(burst)
		if n := tier.Tombstones(); n != burst {
			t.Fatalf("%d tombstones, want %d: none is old yet", n, burst)
		}
		time.Sleep(tier.Keep() + 1)
		end(after)
		// A few may be left in a corner that chance did not lead to.
		if n := tier.Tombstones(); n > after+burst/100 {
			t.Errorf("%d tombstones, want about %d: the old ones were not cleared away", n, after)
		}
	})
}

func TestTombstoneOutlivesEveryAnswerUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tier := open(t, &fake{})
		const load = 3 * time.Second
		if least := bound + load; tier.Keep() <= least {
			t.Errorf("an end is remembered for %v, want longer than bound and load together, %v", tier.Keep(), least)
		}
	})
}

func TestFloorNeverShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		for id := range idworker.ID(10) {
			next.set(alive(id + 1))
		}
		tier := open(t, next)
		for _, id := range []idworker.ID{5, 3, 8, 1, 8, 2} {
			tier.ApplyEnd(gone(id, session.LoggedOut))
		}
		mustBe(t, tier, 8, session.LoggedOut)
		mustBe(t, tier, 9, "")
		for id := idworker.ID(1); id < 8; id++ {
			mustBe(t, tier, id, session.Replaced) // by what ended as the last
		}
		tier.ApplyEnd(gone(2, session.Disabled))
		mustBe(t, tier, 8, session.LoggedOut)
	})
}

// An end in one slot says nothing of the sessions in the other slots of the user, however
// it became known, and whatever their IDs are.
func TestEndOfOneSlotIsNoOtherSlots(t *testing.T) {
	in := func(id idworker.ID, slot session.Slot) session.Session {
		s := alive(id)
		s.Slot = slot
		return s
	}
	ends := func(s session.Session) session.Session {
		s.Ended = session.LoggedOut
		return s
	}
	for how, end := range map[string]func(tier *memstore.Sessions, s session.Session){
		"a message": func(tier *memstore.Sessions, s session.Session) { tier.ApplyEnd(ends(s)) },
		"settled":   func(tier *memstore.Sessions, s session.Session) { tier.ApplySettled(ends(s)) },
		"here":      func(tier *memstore.Sessions, s session.Session) { _ = tier.Publish(t.Context(), ends(s)) },
		"a poll": func(tier *memstore.Sessions, s session.Session) {
			tier.ApplyPoll(session.News{Ends: []session.End{{UserID: s.UserID, Slot: s.Slot, Floor: s.ID, Reason: session.LoggedOut}}})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			next := &fake{}
			before, ended, after := in(7, 0), in(8, 1), in(9, 2)
			for _, s := range []session.Session{before, ended, after} {
				next.set(s)
			}
			tier := open(t, next)
			mustBe(t, tier, 8, "")
			end(tier, ended)
			mustBe(t, tier, 7, "")
			mustBe(t, tier, 8, session.LoggedOut)
			mustBe(t, tier, 9, "")
			if t.Failed() {
				t.Errorf("by %s", how)
			}
			if known := tier.Ends(); len(known) != 1 || known[0].Slot != 1 || known[0].Floor != 8 {
				t.Errorf("by %s: remembers %+v", how, known)
			}
		})
	}
}

func TestTombstoneOfOneUserIsNoOtherUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		other := alive(7)
		other.UserID = owner + 64 // in the same shard or not
		next.set(other)
		tier := open(t, next)
		tier.ApplyEnd(gone(8, session.LoggedOut))
		mustBe(t, tier, 7, "")
	})
}

// TestClockOnTheWall gives a tier a clock that is set by hand while the other,
// which runs on evenly, stands still. Nothing is believed longer for it.
func TestClockOnTheWall(t *testing.T) {
	for _, c := range []struct {
		step time.Duration
		asks int
	}{
		{bound - time.Millisecond, 1},
		{bound, 2},
		{24 * time.Hour, 2}, // the machine slept
	} {
		var clock atomic.Int64
		base := time.Now().Round(0)
		now := func() time.Time { return base.Add(time.Duration(clock.Load())) }
		next := &fake{}
		next.get = func(int) (session.Session, error) {
			s := alive(7)
			s.AsOf = now()
			return s, nil
		}
		tier := openWith(t, next, memstore.Options{Entries: 10, Bound: bound, Now: now})
		mustBe(t, tier, 7, "")
		clock.Store(int64(c.step))
		mustBe(t, tier, 7, "")
		if next.asked() != c.asks {
			t.Errorf("clock on the wall set forward by %v: asked %d times, want %d", c.step, next.asked(), c.asks)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	next := &fake{}
	for id := range idworker.ID(50) {
		next.set(alive(id + 1))
	}
	tier := openWith(t, next, memstore.Options{Entries: 10, Bound: time.Millisecond})
	var floor atomic.Int64
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 500 {
				id := idworker.ID((i*7+w)%50 + 1)
				dead := floor.Load() >= int64(id)
				got, err := tier.Get(t.Context(), id, session.Hash{})
				if err == nil && dead && got.Alive() {
					t.Errorf("%v: alive after its end was received", id)
				}
				_ = tier.Touch(t.Context(), id, time.Now())
				if w == 0 && i%20 == 0 {
					end := idworker.ID(i/20 + 1)
					tier.ApplyEnd(gone(end, session.Revoked))
					floor.Store(int64(end))
				}
			}
		})
	}
	all.Wait()
}
