//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package servicekey_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
)

// bound and every are those of a deployment with nothing configured.
const bound, every = 5 * time.Second, time.Second

// rows are the keys in a database that a test changes.
type rows struct {
	mu    sync.Mutex
	keys  map[idworker.ID]servicekey.Held
	away  bool
	slow  time.Duration
	lag   time.Duration // how much older the as-of is than the question
	reads int
	used  []time.Time
	full  bool // no use can be noted
	tried int
}

func (r *rows) Find(ctx context.Context, id idworker.ID) (servicekey.Held, error) {
	asOf := time.Now()
	r.mu.Lock()
	held, ok := r.keys[id] // as of the beginning
	away, slow, lag := r.away, r.slow, r.lag
	r.reads++
	r.mu.Unlock()
	time.Sleep(slow)
	switch {
	case away:
		return held, errors.New("the database is away")
	case ctx.Err() != nil:
		return held, ctx.Err()
	case !ok:
		return held, servicekey.ErrNotFound
	}
	held.AsOf = asOf.Add(-lag)
	return held, nil
}

func (r *rows) Used(_ context.Context, id idworker.ID, hour time.Time) error {
	full := false
	r.locked(func() { r.tried++; full = r.full })
	if full {
		return errors.New("the database takes no writes")
	}
	r.set(id, func(h *servicekey.Held) { h.UsedAt = hour })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used = append(r.used, hour)
	return nil
}

func (r *rows) set(id idworker.ID, edit func(*servicekey.Held)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	held := r.keys[id]
	edit(&held)
	r.keys[id] = held
}

// locked runs f while nothing else looks at r.
func (r *rows) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *rows) count() (n int) {
	r.locked(func() { n = r.reads })
	return n
}

func (r *rows) make(id idworker.ID, scopes ...servicekey.Scope) flakepass.ServiceKey {
	k := flakepass.NewServiceKey(flakepass.ID(id))
	r.set(id, func(h *servicekey.Held) {
		*h = servicekey.Held{
			Key:  servicekey.Key{ID: id, UserID: 7, Name: "billing", Scopes: scopes},
			Hash: servicekey.HashOf(k), Username: "billing", Role: "service",
		}
	})
	return k
}

func newRows() *rows { return &rows{keys: map[idworker.ID]servicekey.Held{}} }

// start runs a service over r until the test ends.
func (r *rows) start(t *testing.T, counted func(string, servicekey.Scope)) *servicekey.Service {
	s := servicekey.NewService(servicekey.Options{
		Rows: r, Life: servicekey.Life(bound, every), Clock: func() (time.Time, bool) { return time.Now(), true }, Counted: counted,
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return s
}

// TestKeyEndsWithinTheBound: whatever ends it, in use or not, and also where the answer is
// as old as the last poll. A stream that looks each second is cut within the bound.
func TestKeyEndsWithinTheBound(t *testing.T) {
	for name, end := range map[string]struct {
		edit func(*servicekey.Held)
		want error
	}{
		"revoked":  {func(h *servicekey.Held) { h.RevokedAt = time.Now() }, flakepass.ErrKeyRevoked},
		"disabled": {func(h *servicekey.Held) { h.Disabled = true }, flakepass.ErrAccountDisabled},
		"demoted":  {func(h *servicekey.Held) { h.Role = "user" }, servicekey.ErrRole},
	} {
		for _, lag := range []time.Duration{0, 900 * time.Millisecond} {
			for _, pause := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, every, 3 * time.Second} {
				synctest.Test(t, func(t *testing.T) {
					r := newRows()
					r.lag = lag
					k := r.make(41, servicekey.Verify)
					s := r.start(t, nil)
					for range 20 {
						if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						time.Sleep(pause)
					}
					ended := time.Now()
					r.set(41, end.edit)
					for time.Since(ended) < bound-every {
						_, err := s.Verify(t.Context(), k, servicekey.Verify)
						if err != nil && !errors.Is(err, end.want) {
							t.Fatalf("%s: %v, want %v", name, err, end.want)
						}
						time.Sleep(pause)
					}
					// From here on a stream has no beat left before the bound.
					if _, err := s.Verify(t.Context(), k, servicekey.Verify); !errors.Is(err, end.want) {
						t.Errorf("%s, asked each %v: %v after it had ended, got %v", name, pause, time.Since(ended), err)
					}
				})
			}
		}
	}
}

// TestKeyThatIsNotInUseEndsWithinTheBound: nothing has asked its row in between.
func TestKeyThatIsNotInUseEndsWithinTheBound(t *testing.T) {
	for _, lag := range []time.Duration{0, 900 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			r := newRows()
			r.lag = lag
			k := r.make(41, servicekey.Verify)
			s := r.start(t, nil)
			if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			r.set(41, func(h *servicekey.Held) { h.RevokedAt = time.Now() })
			time.Sleep(bound - every)
			if _, err := s.Verify(t.Context(), k, servicekey.Verify); !errors.Is(err, flakepass.ErrKeyRevoked) {
				t.Errorf("lag %v: %v", lag, err)
			}
		})
	}
}

// TestAnswerThatTookTooLongIsUndecided: the key may have ended on the way.
func TestAnswerThatTookTooLongIsUndecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		k := r.make(41, servicekey.Verify)
		s := r.start(t, nil)
		for slow, good := range map[time.Duration]bool{time.Second: true, servicekey.Life(bound, every): false} {
			r.locked(func() { r.slow = slow })
			s.Forget(41)
			_, err := s.Verify(t.Context(), k, servicekey.Verify)
			if _, refused := errors.AsType[*flakepass.Refusal](err); refused || (err == nil) != good {
				t.Errorf("an answer after %v: %v", slow, err)
			}
			synctest.Wait()
		}
	})
}

// TestKeyEndsWithinTheBoundWithoutTheDatabase: undecided by then, and not refused.
func TestKeyEndsWithinTheBoundWithoutTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		k := r.make(41, servicekey.Verify)
		var results []string
		s := r.start(t, func(result string, _ servicekey.Scope) { results = append(results, result) })
		for range 100 {
			if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		r.locked(func() { r.away = true })
		gone := time.Now()
		rode := time.Duration(0)
		for time.Since(gone) < bound {
			_, err := s.Verify(t.Context(), k, servicekey.Verify)
			refusal, refused := errors.AsType[*flakepass.Refusal](err)
			switch {
			case refused:
				t.Fatalf("refused: %v", refusal)
			case err == nil:
				rode = time.Since(gone)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if rode < servicekey.Life(bound, every)/2-100*time.Millisecond || rode > servicekey.Life(bound, every) {
			t.Errorf("a key in use was good for %v without the database", rode)
		}
		if results[0] != "accepted" || results[len(results)-1] != "undecided" {
			t.Errorf("counted %v … %v", results[0], results[len(results)-1])
		}
	})
}

// TestKeyInUseCostsAReadEachSecondOrTwo: and no request waits for it.
func TestKeyInUseCostsAReadEachSecondOrTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		k := r.make(41, servicekey.Verify)
		s := r.start(t, nil)
		if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.locked(func() { r.slow, r.reads = 300*time.Millisecond, 0 })
		for range 600 {
			began := time.Now()
			if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil || time.Since(began) != 0 {
				t.Fatalf("waited %v: %v", time.Since(began), err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := r.count(); n > 60 {
			t.Errorf("%d reads in a minute", n)
		}
	})
}

// TestWhatCanBeUndoneIsAskedEachTime: an account that is enabled again is served at once,
// and what can never become true costs no read.
func TestWhatCanBeUndoneIsAskedEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		k := r.make(41, servicekey.Verify)
		s := r.start(t, nil)
		for _, undone := range []func(*servicekey.Held, bool){
			func(h *servicekey.Held, on bool) { h.Disabled = on },
			func(h *servicekey.Held, on bool) {
				if h.Role = "service"; on {
					h.Role = "admin"
				}
			},
		} {
			r.set(41, func(h *servicekey.Held) { undone(h, true) })
			s.Forget(41)
			if _, err := s.Verify(t.Context(), k, servicekey.Verify); err == nil {
				t.Fatal("accepted")
			}
			r.set(41, func(h *servicekey.Held) { undone(h, false) })
			if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil {
				t.Errorf("after it was undone: %v", err)
			}
		}
		// A key that was made a moment ago is good, also if it was asked for before.
		id := idworker.ID(42)
		early := flakepass.NewServiceKey(42)
		if _, err := s.Verify(t.Context(), early, servicekey.Verify); !errors.Is(err, flakepass.ErrKeyInvalid) {
			t.Errorf("unknown: %v", err)
		}
		if _, err := s.Verify(t.Context(), r.make(id, servicekey.Verify), servicekey.Verify); err != nil {
			t.Errorf("made since: %v", err)
		}
		synctest.Wait()
		r.locked(func() { r.reads = 0 })
		forged := flakepass.NewServiceKey(41)
		for range 100 {
			if _, err := s.Verify(t.Context(), forged, servicekey.Verify); !errors.Is(err, flakepass.ErrKeyInvalid) {
				t.Fatal(err)
			}
			if _, err := s.Verify(t.Context(), k, servicekey.Revoke); !isScope(err, servicekey.Revoke) {
				t.Fatal(err)
			}
		}
		if n := r.count(); n != 0 {
			t.Errorf("%d reads for what can never become true", n)
		}
	})
}

func isScope(err error, needs servicekey.Scope) bool {
	e, ok := errors.AsType[*servicekey.ScopeError](err)
	return ok && e.Needs == needs
}

// TestKeyExpiresOnTime: by the clock of the database, remembered or not. While that is not
// known, a key with an expiry is undecided.
func TestKeyExpiresOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		k := r.make(41, servicekey.Verify)
		until := time.Now().Add(time.Minute)
		r.set(41, func(h *servicekey.Held) { h.ExpiresAt = until })
		known := false
		s := servicekey.NewService(servicekey.Options{Rows: r, Life: servicekey.Life(bound, every), Clock: func() (time.Time, bool) { return time.Now(), known }})
		_, err := s.Verify(t.Context(), k, servicekey.Verify)
		if _, refused := errors.AsType[*flakepass.Refusal](err); err == nil || refused {
			t.Errorf("without a clock: %v", err)
		}
		known = true
		time.Sleep(time.Minute - time.Millisecond)
		if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil {
			t.Errorf("before: %v", err)
		}
		time.Sleep(time.Millisecond)
		if _, err := s.Verify(t.Context(), k, servicekey.Verify); !errors.Is(err, flakepass.ErrKeyExpired) {
			t.Errorf("at its end: %v", err)
		}
	})
}

// TestAFloodOfUnknownKeysLeavesTheOthersAlone: a key in use waits for nothing, at most four
// of the flood read at once, and the rest is undecided in time.
func TestAFloodOfUnknownKeysLeavesTheOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		k := r.make(41, servicekey.Verify)
		s := r.start(t, nil)
		if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.locked(func() { r.slow, r.reads = 500*time.Millisecond, 0 })
		var inside atomic.Int64
		var undecided atomic.Int64
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				inside.Add(1)
				_, err := s.Verify(t.Context(), flakepass.NewServiceKey(flakepass.ID(1000+i)), servicekey.Verify)
				if !errors.Is(err, flakepass.ErrKeyInvalid) {
					undecided.Add(1)
				}
			})
		}
		synctest.Wait()
		if n := r.count(); n > 4 {
			t.Errorf("%d reads at once", n)
		}
		for range 100 {
			began := time.Now()
			if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil || time.Since(began) > 0 {
				t.Fatalf("a key in use waited %v: %v", time.Since(began), err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		r.locked(func() { r.away = true }) // no answer about it can be had until it lapses
		time.Sleep(bound)
		r.locked(func() { r.away = false })
		for i := range 50 {
			all.Go(func() { _, _ = s.Verify(t.Context(), flakepass.NewServiceKey(flakepass.ID(2000+i)), servicekey.Verify) })
		}
		synctest.Wait()
		began := time.Now()
		if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil || time.Since(began) > 500*time.Millisecond {
			t.Errorf("a key that was not used lately waited %v: %v", time.Since(began), err)
		}
		all.Wait()
		if n := undecided.Load(); n < 100 {
			t.Errorf("%d of %d undecided; the queue has no end", n, inside.Load())
		}
	})
}

// TestUseIsNotedOnceAnHour: also that of a key that is used once.
func TestUseIsNotedOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		k := r.make(41, servicekey.Verify)
		s := r.start(t, nil)
		for range 3 * 60 {
			if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Verify(t.Context(), k, servicekey.Revoke); err == nil {
				t.Fatal("accepted")
			}
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		if len(r.used) < 3 || len(r.used) > 4 {
			t.Errorf("noted %d times in three hours: %v", len(r.used), r.used)
		}
		for _, hour := range r.used {
			if !hour.Equal(hour.Truncate(time.Hour)) {
				t.Errorf("noted %v, which is no hour", hour)
			}
		}
	})
}

// TestAUseThatCannotBeNotedIsTriedOnceAMinute, and noted when it can be.
func TestAUseThatCannotBeNotedIsTriedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRows()
		k := r.make(41, servicekey.Verify)
		s := r.start(t, nil)
		r.full = true
		use := func() {
			for range 120 {
				if _, err := s.Verify(t.Context(), k, servicekey.Verify); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
		}
		use()
		if r.tried < 2 || r.tried > 3 {
			t.Errorf("tried %d times in two minutes of %d uses", r.tried, 120)
		}
		r.locked(func() { r.full = false })
		use()
		if len(r.used) == 0 {
			t.Error("never noted")
		}
	})
}

// TestAFloodLeavesReadsToTokens, also where few rows are read at once.
func TestAFloodLeavesReadsToTokens(t *testing.T) {
	for reads, want := range map[int]int{1: 1, 3: 1, 6: 3, 100: 4} {
		synctest.Test(t, func(t *testing.T) {
			r := newRows()
			r.slow = time.Second
			s := servicekey.NewService(servicekey.Options{Rows: r, Reads: reads, Life: servicekey.Life(bound, every), Clock: func() (time.Time, bool) { return time.Now(), true }})
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() { _, _ = s.Verify(t.Context(), flakepass.NewServiceKey(flakepass.ID(1000+i)), servicekey.Verify) })
			}
			synctest.Wait()
			if n := r.count(); n != want {
				t.Errorf("%d of %d reads at once are of the flood, want %d", n, reads, want)
			}
			all.Wait()
		})
	}
}

// TestLifeLeavesABeat: what a stream looks at with each beat is over within the bound.
func TestLifeLeavesABeat(t *testing.T) {
	for _, b := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, bound, time.Minute, 5 * time.Minute} {
		poll := min(time.Second, b/4) // as package feed has it
		if life := servicekey.Life(b, poll); life <= 0 || life+poll >= b {
			t.Errorf("bound %v: life %v, and a beat each %v", b, life, poll)
		}
	}
}
