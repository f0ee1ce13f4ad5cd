//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package memstore_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

const bound = 5 * time.Second

func TestFillDoesNotRevive(t *testing.T) {
	for _, received := range []struct {
		while string
		word  session.Session
	}{
		{"its own end", gone(7, session.LoggedOut)},
		{"the end of a later session of its user", gone(8, session.LoggedOut)},
	} {
		for _, late := range []time.Duration{0, time.Second, bound, time.Minute, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				next := &fake{}
				next.set(alive(7))
				next.hold = make(chan struct{})
				tier := open(t, next)
				answer := make(chan error, 1)
				var got session.Session
				go func() {
					var err error
					got, err = tier.Get(context.Background(), 7, session.Hash{})
					answer <- err
				}()
				synctest.Wait() // the next tier has read "alive" and is slow to say so
				if err := tier.Publish(t.Context(), received.word); err != nil {
					t.Fatal(err)
				}
				time.Sleep(late) // in a bubble
				next.set(gone(7, received.word.Ended))
				close(next.hold)
				if err := <-answer; err == nil && got.Alive() {
					t.Errorf("after %s, a read that began before and came back %v later was accepted", received.while, late)
				}
				for range 3 {
					if got, err := tier.Get(t.Context(), 7, session.Hash{}); err == nil && got.Alive() {
						t.Errorf("after %s, %v late: the fill revived it", received.while, late)
					}
				}
			})
		}
	}
}

func TestAliveIsBelievedByItsAsOfNotByItsArrival(t *testing.T) {
	for _, old := range []time.Duration{0, time.Second, bound - time.Second, bound - time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			next := &fake{}
			s := alive(7)
			s.AsOf = time.Now().Add(-old) // as another tier's memory would answer
			next.set(s)
			tier := open(t, next)
			mustBe(t, tier, 7, "")
			next.set(gone(7, session.Revoked))
			time.Sleep(bound - old - 1)
			mustBe(t, tier, 7, "")
			time.Sleep(time.Nanosecond)
			mustBe(t, tier, 7, session.Revoked)
		})
	}
}

func TestTooOldAnswerIsAskedForOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.get = func(n int) (session.Session, error) {
			s := alive(7)
			if n == 1 { // what was fresh when it was read is not any more
				s.AsOf = time.Now().Add(-bound)
			}
			return s, nil
		}
		mustBe(t, open(t, next), 7, "")
		if next.asked() != 2 {
			t.Errorf("asked %d times, want 2", next.asked())
		}
	})
}

func TestAnswerThatIsAlwaysTooOldIsUndecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.get = func(int) (session.Session, error) {
			s := alive(7)
			s.AsOf = time.Now().Add(-bound)
			return s, nil
		}
		got, err := open(t, next).Get(t.Context(), 7, session.Hash{})
		if err == nil || errors.Is(err, session.ErrNotFound) {
			t.Errorf("Get: %v, ended %q; want an error that is not ErrNotFound", err, got.Ended)
		}
	})
}

func TestNextTierDownIsUndecidedNotUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("no route")
		next := &fake{}
		next.set(alive(7))
		other := gone(9, session.Disabled)
		other.UserID++
		next.set(other)
		tier := open(t, next)
		mustBe(t, tier, 7, "")
		mustBe(t, tier, 9, session.Disabled)
		next.fail(down)
		time.Sleep(bound - 1)
		mustBe(t, tier, 7, "")
		mustBe(t, tier, 9, session.Disabled)
		time.Sleep(time.Nanosecond)
		for range 2 {
			if _, err := tier.Get(t.Context(), 7, session.Hash{}); !errors.Is(err, down) || errors.Is(err, session.ErrNotFound) {
				t.Errorf("Get past the bound: %v, want what the next tier said", err)
			}
		}
		// What was received here needs no other tier.
		tier.ApplyEnd(gone(7, session.LoggedOut))
		next.fail(nil)
		mustBe(t, tier, 7, session.LoggedOut)
	})
}

func TestUnknownIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		tier := open(t, next)
		for range 2 {
			if _, err := tier.Get(t.Context(), 7, session.Hash{}); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("Get: %v, want ErrNotFound", err)
			}
		}
		next.set(alive(7))
		mustBe(t, tier, 7, "")
	})
}

func TestManyCallersAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		tier := open(t, next)
		for round := 1; round <= 3; round++ {
			next.set(alive(7))
			hold := make(chan struct{})
			next.holdBack(hold)
			var all sync.WaitGroup
			for range 10_000 {
				all.Go(func() { mustBe(t, tier, 7, "") })
			}
			synctest.Wait()
			close(hold)
			all.Wait()
			if next.asked() != round {
				t.Errorf("10000 callers, round %d: asked %d times, want once a round", round, next.asked())
			}
			time.Sleep(bound) // an entry that is too old is there in the next round
		}
	})
}

// TestHolderOfAnOldAnswerDoesNotUndoANewOne stops a caller that has found an
// entry too old until another has fetched a new one in its place. The tier asks
// for the time in between.
func TestHolderOfAnOldAnswerDoesNotUndoANewOne(t *testing.T) {
	var clock atomic.Int64
	var stop atomic.Pointer[chan struct{}]
	stopped := make(chan struct{})
	now := func() time.Time {
		at := time.UnixMilli(clock.Load())
		if c := stop.Swap(nil); c != nil {
			close(stopped)
			<-*c
		}
		return at
	}
	next := &fake{}
	next.get = func(int) (session.Session, error) {
		s := alive(7)
		s.AsOf = time.UnixMilli(clock.Load())
		return s, nil
	}
	tier := openWith(t, next, memstore.Options{Entries: 100, Bound: bound, Now: now})
	mustBe(t, tier, 7, "")
	clock.Add(bound.Milliseconds())
	goOn := make(chan struct{})
	stop.Store(&goOn)
	late := make(chan struct{})
	go func() {
		defer close(late)
		mustBe(t, tier, 7, "")
	}()
	<-stopped
	mustBe(t, tier, 7, "")
	close(goOn)
	<-late
	if next.asked() != 2 {
		t.Errorf("asked %d times, want 2: the new answer was dropped with the old", next.asked())
	}
}

func TestCancelledFirstCallerDoesNotFailTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.set(alive(7))
		next.hold = make(chan struct{})
		tier := open(t, next)
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() {
			_, err := tier.Get(ctx, 7, session.Hash{})
			first <- err
		}()
		synctest.Wait()
		var others sync.WaitGroup
		for range 100 {
			others.Go(func() { mustBe(t, tier, 7, "") })
		}
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("first caller: %v, want context.Canceled", err)
		}
		synctest.Wait()
		close(next.hold)
		others.Wait()
	})
}

func TestCallerDoesNotWaitLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.set(alive(7))
		next.hold = make(chan struct{})
		defer close(next.hold)
		tier := open(t, next)
		go func() { _, _ = tier.Get(context.Background(), 7, session.Hash{}) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := tier.Get(ctx, 7, session.Hash{})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("Get: %v after %v, want its deadline after 1s", err, time.Since(began))
		}
	})
}

func TestPublishedEndRefusesAlthoughTheNextTierFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.set(alive(7))
		tier := open(t, next)
		mustBe(t, tier, 7, "")
		next.fail(session.ErrUnpublished)
		if err := tier.Publish(t.Context(), gone(7, session.LoggedOut)); !errors.Is(err, session.ErrUnpublished) {
			t.Errorf("Publish: %v, want what the next tier said", err)
		}
		mustBe(t, tier, 7, session.LoggedOut)
	})
}

// A use that the row may refuse moves nothing here: nobody would be idle by the
// row and alive by this memory.
func TestUseIsPassedOnAndNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.set(alive(7))
		tier := open(t, next)
		mustBe(t, tier, 7, "")
		before := time.Now()
		touch := func(id idworker.ID, after time.Duration, want int) {
			t.Helper()
			if err := tier.Touch(t.Context(), id, before.Add(after)); err != nil {
				t.Fatal(err)
			}
			if got, err := tier.Get(t.Context(), 7, session.Hash{}); err != nil || got.Seen.After(before) {
				t.Errorf("seen %v, %v; want what the row said", got.Seen, err)
			}
			if n := next.touched(); n != want {
				t.Errorf("touched after %v: %d uses passed on, want %d", after, n, want)
			}
		}
		touch(7, time.Minute, 1)
		touch(7, time.Minute+500*time.Millisecond, 1) // before the row can have the first
		touch(7, time.Minute+time.Second, 2)
		touch(7, -time.Hour, 3) // the database's clock was set back
		touch(99, time.Minute, 4)
		if _, err := tier.Get(t.Context(), 99, session.Hash{}); !errors.Is(err, session.ErrNotFound) { // it makes nothing
			t.Errorf("Get of a touched unknown: %v", err)
		}
	})
}

func TestWhatTheRowSaysOfAUseIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &fake{}
		next.set(alive(7))
		tier := open(t, next)
		mustBe(t, tier, 7, "")
		later := time.Now().Add(time.Minute).Truncate(time.Millisecond)
		for _, at := range []time.Time{later, later.Add(-time.Hour)} { // the row only moves forward
			tier.Written(7, at)
			if got, err := tier.Get(t.Context(), 7, session.Hash{}); err != nil || !got.Seen.Equal(later) || got.Seen.Location() != time.UTC {
				t.Errorf("seen %v (%v), want %v in UTC", got.Seen, err, later)
			}
		}
		if n := next.asked(); n != 1 {
			t.Errorf("the next tier was asked %d times, want once", n)
		}
		// It has refused a use: what is remembered is not believed any more.
		next.set(gone(7, session.Idle))
		tier.Written(7, time.Time{})
		mustBe(t, tier, 7, session.Idle)
	})
}

func TestOptionsThatCannotBeMet(t *testing.T) {
	for _, o := range []memstore.Options{{}, {Entries: 1}, {Bound: bound}, {Entries: -1, Bound: bound}, {Entries: 1, Bound: -1}} {
		if _, err := memstore.NewSessions(&fake{}, o); err == nil {
			t.Errorf("New(%+v): no error", o)
		}
	}
}

func TestHitAllocatesNothing(t *testing.T) {
	next := &fake{}
	next.set(alive(7))
	tier := openWith(t, next, memstore.Options{Entries: 100, Bound: time.Hour})
	mustBe(t, tier, 7, "")
	tier.ApplyEnd(gone(6, session.LoggedOut)) // a tombstone of its user, to be passed
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := tier.Get(ctx, 7, session.Hash{}); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a hit allocates %v times", n)
	}
}

// TestCachedSessionIsSmall: the allocator has a size of 112 bytes, and the next one is 128.
func TestCachedSessionIsSmall(t *testing.T) {
	if memstore.EntrySize > 112 {
		t.Errorf("a cached session takes %d bytes, want 112 at most", memstore.EntrySize)
	}
}

// An entry holds every field of a session, also those that are added later: each alone, and
// all at once.
func TestEntryHoldsEveryField(t *testing.T) {
	check := func(name string, s session.Session) {
		want := s
		want.Device = s.Device.WithoutName()
		if got := memstore.Remembered(s); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: remembered\n%+v, want\n%+v", name, got, want)
		}
	}
	var all session.Session
	zero := time.UnixMilli(0).UTC()
	for i := range reflect.TypeFor[session.Session]().NumField() {
		one := session.Session{Seen: zero}
		fill(t, reflect.ValueOf(&one).Elem().Field(i))
		check(reflect.TypeFor[session.Session]().Field(i).Name, one)
		fill(t, reflect.ValueOf(&all).Elem().Field(i))
	}
	check("all", all)
}

// fill makes v something other than zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = time.Now().Truncate(time.Millisecond).UTC() // as rows have it
		return
	}
	switch v.Kind() { //nolint:exhaustive // what a session has
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1<<62 + 7)
	case reflect.Uint8:
		v.SetUint(201)
	case reflect.String:
		v.SetString("text")
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("a session has a field of the kind %v: say here how to fill it", v.Kind())
	}
}

// The monotonic clock is a part of an as-of: an answer ages by it when the wall clock is set.
func TestEntryKeepsBothClocks(t *testing.T) {
	s := alive(7)
	if got := memstore.Remembered(s); got.AsOf != s.AsOf {
		t.Errorf("as of %v, want %v", got.AsOf, s.AsOf)
	}
}
