//nolint:forbidigo // every sleep here is of a bubble's clock
package idworker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

func TestRunKeepsTheRangeExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		w := open(t, s, idworker.Options{Layout: twentieth()})
		ran := make(chan error, 1)
		go func() { ran <- w.Run(t.Context()) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := s.asked(); n < 35 || n > 50 {
			t.Errorf("asked %d times in a minute, want about 40", n)
		}
		asked := s.asked()
		next(t, w)
		if s.asked() != asked {
			t.Error("minting asked the lender although Run keeps the range extended")
		}
		// An outage of half a window goes unnoticed.
		s.fail(errStore)
		time.Sleep(1400 * time.Millisecond)
		next(t, w)
		time.Sleep(3 * time.Second)
		if id, err := w.Next(t.Context()); !errors.Is(err, idworker.ErrNoGrant) || !errors.Is(err, errStore) {
			t.Errorf("in an outage: %d, %v, want ErrNoGrant and the lender's error", id, err)
		}
		s.fail(nil)
		time.Sleep(2 * time.Second)
		next(t, w)
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestNextAsksWithoutRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, newStore(1), idworker.Options{Layout: twentieth()})
		var last idworker.ID
		for range 50 {
			time.Sleep(time.Second)
			id := next(t, w)
			if id <= last {
				t.Fatalf("%d after %d", id, last)
			}
			last = id
		}
	})
}

func TestLostNumberIsReplacedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(4)
		for range 2 { // so that the first number is not the lowest
			s.seats = append([]seat{{token: "taken"}}, s.seats...)
		}
		w := open(t, s, idworker.Options{Layout: twentieth()})
		first := w.Number()
		s.seats[0].token = "" // the next number is lower: order must not rest on it
		last := next(t, w)
		s.mu.Lock()
		s.seats[first].token = "thief"
		s.mu.Unlock()
		for range 5000 {
			time.Sleep(50 * time.Microsecond)
			id := next(t, w)
			if id <= last {
				t.Fatalf("%d after %d", id, last)
			}
			last = id
		}
		if w.Number() != 0 {
			t.Errorf("the number is %d, want 0", w.Number())
		}
	})
}

func TestNoOtherNumberIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		w := open(t, s, idworker.Options{Layout: twentieth()})
		s.steal()
		next(t, w) // the range lent before is still ours
		time.Sleep(time.Second)
		_, err := w.Next(t.Context())
		for _, want := range []error{idworker.ErrNoGrant, idworker.ErrLost, idworker.ErrNoNumber} {
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v in it", err, want)
			}
		}
	})
}

// TestTwoOwnersOfOneNumberTakeTurns is one number configured twice.
func TestTwoOwnersOfOneNumberTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		s.any = rand.New(rand.NewPCG(1, 1)) // takes the number from its owner
		var (
			mu   sync.Mutex
			wg   sync.WaitGroup
			seen = make(map[idworker.ID]bool)
		)
		for range 2 {
			wg.Go(func() {
				w := open(t, s, idworker.Options{Layout: twentieth()})
				ran := make(chan error, 1)
				go func() { ran <- w.Run(t.Context()) }()
				for range 1000 {
					start := time.Now()
					id := next(t, w)
					if time.Since(start) > time.Second {
						t.Errorf("a turn took %v to come", time.Since(start))
					}
					mu.Lock()
					if seen[id] {
						t.Errorf("ID %d twice", id)
					}
					seen[id] = true
					mu.Unlock()
					time.Sleep(10 * time.Millisecond)
				}
				if err := w.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if err := <-ran; err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

func TestOutageIsOneQuestionForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		l := &slow{store: s}
		w := open(t, l, idworker.Options{Layout: twentieth()})
		time.Sleep(time.Second)
		asked := s.asked()
		s.fail(errStore)
		l.d = time.Second
		start := time.Now()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := w.Next(t.Context()); !errors.Is(err, errStore) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		if n := s.asked() - asked; n != 1 || time.Since(start) != time.Second {
			t.Errorf("100 callers asked %d times in %v, want once", n, time.Since(start))
		}
	})
}

// TestImpatientCallerFailsAlone: a caller that waits for the query of
// another asks itself when that one gives up.
func TestImpatientCallerFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &slow{store: newStore(1)}
		w := open(t, l, idworker.Options{Layout: twentieth()})
		time.Sleep(time.Second)
		l.d = time.Second
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := w.Next(impatient); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the impatient one: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if _, err := w.Next(t.Context()); err != nil {
				t.Errorf("the patient one: %v", err)
			}
		})
		wg.Wait()
	})
}

func TestNumberThatDoesNotFitIsGivenBack(t *testing.T) {
	s := newStore(5)
	for n := range 4 {
		s.seats[n].token = "taken"
	}
	l := idworker.Default()
	l.WorkerBits, l.SequenceBits = 2, 20
	if _, err := idworker.Open(t.Context(), s, idworker.Options{Layout: l}); !errors.Is(err, idworker.ErrLayout) {
		t.Errorf("got %v, want ErrLayout", err)
	}
	if s.seats[4].token != "" {
		t.Error("the number was not given back")
	}
}

// A slow lender answers extensions after d.
type slow struct {
	*store
	d time.Duration
}

func (s *slow) Extend(ctx context.Context, g idworker.Grant, until time.Time) (idworker.Grant, error) {
	select {
	case <-time.After(s.d):
	case <-ctx.Done():
		return g, ctx.Err()
	}
	return s.store.Extend(ctx, g, until)
}

// TestWindowWithAFractionOfAMillisecondIsExtended: a Lender rounds instants down to whole ones. So no range
// was as long as the Worker had asked for, and it minted in the first ranges only.
func TestWindowWithAFractionOfAMillisecondIsExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, newStore(1), idworker.Options{Layout: twentieth(), Window: 250*time.Millisecond + time.Microsecond})
		for range 100 {
			next(t, w)
			time.Sleep(100 * time.Millisecond)
		}
	})
}
