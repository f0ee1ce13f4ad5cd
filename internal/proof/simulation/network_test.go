//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errCut  = errors.New("simulation: no answer")
	errLost = errors.New("simulation: the answer was lost")
)

// A wire is one instance's connection to one server. What is wrong with it
// changes while the simulation runs.
type wire struct {
	mu   sync.Mutex
	r    *rand.Rand
	mood mood
	dead atomic.Bool // the instance that asks was killed
}

// A mood is what is wrong with a wire, as probabilities.
type mood struct {
	cut  float64       // nothing gets through
	lose float64       // what was asked happens, and the answer is lost
	slow time.Duration // how much longer than usual a way may take
	poll float64       // a poll of the feed does not get through, and all else does
}

func newWire(seed, who uint64) *wire { return &wire{r: rand.New(rand.NewPCG(seed, who))} }

func (w *wire) set(m mood) { w.mu.Lock(); w.mood = m; w.mu.Unlock() }

// cutsPoll decides whether a poll gets through.
func (w *wire) cutsPoll() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.r.Float64() < w.mood.poll
}

// fate decides, for one question, how long each way takes and what is lost.
func (w *wire) fate() (there, back time.Duration, cut, lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// To the nanosecond, so that no two events happen at one instant.
	way := func() time.Duration {
		d := time.Duration(50_000 + w.r.Int64N(2_000_000))
		if w.mood.slow > 0 && w.r.IntN(3) == 0 {
			d += time.Duration(w.r.Int64N(int64(w.mood.slow)))
		}
		return d
	}
	return way(), way(), w.r.Float64() < w.mood.cut, w.r.Float64() < w.mood.lose
}

// ask carries a question: f happens at the other end, once, or not at all. It
// happens also when the caller has given up meanwhile.
func ask[T any](ctx context.Context, w *wire, f func() (T, error)) (T, error) {
	there, back, cut, lost := w.fate()
	var none T
	if cut || w.dead.Load() {
		<-ctx.Done()
		return none, errors.Join(errCut, ctx.Err())
	}
	type answer struct {
		what T
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		time.Sleep(there)
		what, err := f()
		time.Sleep(back)
		if lost {
			what, err = none, errLost
		}
		answers <- answer{what, err}
	}()
	select {
	case a := <-answers:
		return a.what, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
