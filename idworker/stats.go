package idworker

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// A Recorder is notified of what happens to a Worker off the path of minting. Its
// methods are called where it happens, some at the same time, and must return
// soon.
type Recorder interface {
	// Waited is called before a call of Next sleeps, with the time that it will sleep.
	Waited(d time.Duration)

	// SteppedBack is called when the clock is seen to have gone back by d.
	SteppedBack(d time.Duration)

	// Renewed is called after each attempt to get a longer range, with its
	// error: usually once in half of [Options.Window] while Run is running.
	Renewed(s Stats, err error)
}

// Stats say how a Worker is doing. Counts are since Open.
type Stats struct {
	// Number is the worker number.
	Number int

	// Minted is how many IDs were returned. It is exact while no call mints. While calls are under
	// way, it may be off by the values that they have taken. If no certain count can be read, it
	// is the last certain one.
	Minted uint64

	// Waits counts sleeps for the clock, RangeWaits calls that had to ask the
	// Lender or wait for its answer, and Rollbacks times that the clock was seen
	// to have gone back.
	Waits, RangeWaits, Rollbacks uint64

	// Lead is how far the last ID is ahead of the clock; negative if it is
	// older.
	Lead time.Duration

	// FenceLeft is how long the range lasts from now, by the clock. FenceAge is
	// the time since the range was last made longer, and LeaseAge since the
	// number was taken.
	FenceLeft, FenceAge, LeaseAge time.Duration
}

// counts are changed off the path of minting only. What was minted is the
// word, which counts values, less those that no caller got.
type counts struct {
	skipped, final, certain      atomic.Uint64
	moving, moved                atomic.Uint64 // moves of the word begun, and done
	waits, rangeWaits, rollbacks atomic.Uint64
	acquired, fenced             atomic.Int64 // milliseconds since the epoch
	failure                      atomic.Pointer[failure]
}

// A failure is why the range is not longer.
type failure struct {
	err   error
	since int64 // milliseconds since the epoch
}

// Stats says how the Worker is doing. It costs about as much as minting.
func (w *Worker) Stats() Stats {
	last, minted := w.minted()
	g, now := w.grant.Load(), w.clock.milli()
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return Stats{
		Number: g.lent.Number,
		Minted: minted,
		Waits:  w.counts.waits.Load(), RangeWaits: w.counts.rangeWaits.Load(), Rollbacks: w.counts.rollbacks.Load(),
		Lead:      ms(w.tickOf(last)*w.layout.unit() - now),
		FenceLeft: ms(w.tickOf(g.hi)*w.layout.unit() - now),
		FenceAge:  ms(now - w.counts.fenced.Load()), LeaseAge: ms(now - w.counts.acquired.Load()),
	}
}

// Healthy is nil, or says what is wrong: [ErrClosed]; [ErrExhausted]; [ErrNoGrant] and the Lender's
// error if the last attempt to get a longer range failed, even if the present range still lasts, and
// [ErrNoGrant] alone if the range is over and the Lender has not answered yet;
// [ErrClockBehind] if the wall clock is behind the time that the Worker uses, and under ClockSteady
// only if it is so far behind that a restart would be refused; [ErrTooFarAhead] if the next ID is
// so far ahead of the clock that minting would be refused.
func (w *Worker) Healthy() error {
	now := w.clock.milli()
	if w.word.Load() >= closedWord {
		return ErrClosed
	}
	if now/w.clock.unit >= w.end() {
		return ErrExhausted
	}
	if f := w.counts.failure.Load(); f != nil {
		return fmt.Errorf("failing for %v, with %v of the range left: %w",
			time.Duration(now-f.since)*time.Millisecond, w.Stats().FenceLeft, f.err)
	}
	if w.stuck(now) {
		return fmt.Errorf("%w: the range is over, and there is no answer yet", ErrNoGrant)
	}
	behind := now - w.clock.wallMilli()
	limit := MaxWait.Milliseconds()
	if w.policy.strict() {
		behind, limit = w.seen.Load()-now, 0
	}
	if behind > limit && w.policy != ClockIgnore {
		return fmt.Errorf("%w: %v behind the time in use", ErrClockBehind, time.Duration(behind)*time.Millisecond)
	}
	return w.early(w.tickOf(w.last() + 1))
}

// stuck reports that the range is over while the Lender is asked: what a Lender that stands still answers,
// that the question took too long, comes seconds later.
func (w *Worker) stuck(now int64) bool {
	w.mu.Lock()
	asking := w.flight != nil
	w.mu.Unlock()
	tick := w.tickOf(w.last() + 1)
	if w.policy != ClockIgnore {
		tick = max(tick, now/w.clock.unit)
	}
	return asking && tick >= w.tickOf(w.grant.Load().hi)
}

// minted is the value taken last, and how many were. A move of the word skips
// values by the million and says so right afterwards; in between they would
// pass for minted. So a count is certain only if no move was under way. The
// goroutine of a move may be off its processor for long: the tries are bounded,
// and then the last certain count is returned.
func (w *Worker) minted() (last, n uint64) {
	for range 1000 {
		moved := w.counts.moved.Load()
		last = w.last()
		skipped := w.counts.skipped.Load()
		if moved == w.counts.moving.Load() {
			n = last - min(last, skipped) // values skipped since are in skipped only
			w.counts.certain.Store(n)
			return last, n
		}
		runtime.Gosched()
	}
	return last, w.counts.certain.Load()
}

// move moves the word from one value to another and counts those in between as
// skipped, all but the last n. It reports whether the word was still there.
func (w *Worker) move(from, to, n uint64) bool {
	if to-from == n {
		return w.word.CompareAndSwap(from, to)
	}
	w.counts.moving.Add(1)
	defer w.counts.moved.Add(1)
	if !w.word.CompareAndSwap(from, to) {
		return false
	}
	w.counts.skipped.Add(to - from - n)
	return true
}

// last is the value taken last, also of a closed Worker.
func (w *Worker) last() uint64 {
	if v := w.word.Load(); v < closedWord {
		return v
	}
	return w.counts.final.Load()
}

func (w *Worker) waited(d time.Duration) {
	w.counts.waits.Add(1)
	if w.recorder != nil {
		w.recorder.Waited(d)
	}
}

func (w *Worker) steppedBack(d time.Duration) {
	w.counts.rollbacks.Add(1)
	if w.recorder != nil {
		w.recorder.SteppedBack(d)
	}
}

// renewed keeps the answer of the Lender. A caller that gave up is no answer.
func (w *Worker) renewed(err error, gaveUp bool) {
	switch f := w.counts.failure.Load(); {
	case err == nil:
		w.counts.fenced.Store(w.clock.milli())
		w.counts.failure.Store(nil)
	case gaveUp, errors.Is(err, ErrClosed):
	case f != nil:
		w.counts.failure.Store(&failure{err: err, since: f.since})
	default:
		w.counts.failure.Store(&failure{err: err, since: w.clock.milli()})
	}
	if w.recorder != nil {
		w.recorder.Renewed(w.Stats(), err)
	}
}
