package idworker

import (
	"context"
	"fmt"
	"time"
)

// mostRest is the longest extra time that a call sleeps when it keeps to the pace of the clock.
// The extra time leaves room for the calls after it. Otherwise many busy callers would wake up a
// dozen times in a millisecond, and that costs much more than minting.
const mostRest = 2 * time.Millisecond

// wait sleeps until the clock is within the lead of the tick. It fails at once if that takes
// longer than [MaxWait]. Under ClockIgnore it never sleeps, and fails only if the tick is more
// than MaxWait ahead of the clock and of the last ID.
func (w *Worker) wait(ctx context.Context, tick int64) error {
	for {
		d := w.until(tick)
		switch {
		case d > MaxWait:
			return w.tooFar(tick)
		case d <= 0 || w.policy == ClockIgnore:
			return nil
		}
		if d <= w.rest { // not on top of a long wait, which has another cause
			d += w.rest
		}
		if err := w.sleep(ctx, d); err != nil {
			return err
		}
		if w.policy.strict() {
			if _, err := w.read(ctx); err != nil {
				return err
			}
		}
	}
}

// read reads a clock that may go back, and returns it in ticks.
func (w *Worker) read(ctx context.Context) (int64, error) {
	const most = 5 // milliseconds, Leaf's
	for again := false; ; again = true {
		// Before the clock: a reading of another caller in between may be later
		// and is no step back.
		seen := w.seen.Load()
		now := w.clock.milli()
		if now >= seen {
			for now > seen && !w.seen.CompareAndSwap(seen, now) {
				seen = w.seen.Load()
			}
			if w.behind.Load() {
				w.behind.Store(false)
			}
			return now / w.clock.unit, nil
		}
		if w.word.Load() >= closedWord {
			return 0, ErrClosed // for good, whatever the clock will say
		}
		back := seen - now
		if w.behind.CompareAndSwap(false, true) {
			w.steppedBack(time.Duration(back) * time.Millisecond)
		}
		if w.policy != ClockWait || back > most || again {
			return 0, fmt.Errorf("%w by %v", ErrClockBehind, time.Duration(back)*time.Millisecond)
		}
		if err := w.sleep(ctx, time.Duration(2*back)*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// early is ErrTooFarAhead if the tick is not due within MaxWait.
func (w *Worker) early(tick int64) error {
	if w.until(tick) > MaxWait {
		return w.tooFar(tick)
	}
	return nil
}

func (w *Worker) tooFar(tick int64) error {
	return fmt.Errorf("%w: %v may be used, and the clock says %v", ErrTooFarAhead,
		w.instant(tick).Format(time.RFC3339Nano), w.instant(0).
			Add(time.Duration(w.clock.milli())*time.Millisecond).Format(time.RFC3339Nano))
}

// until is how long it takes until the tick is due. Years are cut short.
func (w *Worker) until(tick int64) time.Duration {
	const year = 365 * 24 * time.Hour
	now := w.clock.milli()
	if w.policy == ClockIgnore {
		now = max(now, w.tickOf(w.word.Load()&^closedWord)*w.layout.unit())
	}
	ms := tick*w.layout.unit() - now
	return time.Duration(min(ms, year.Milliseconds()))*time.Millisecond - w.lead
}

func (w *Worker) sleep(ctx context.Context, d time.Duration) error {
	w.waited(d)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("idworker: waiting for the clock: %w", ctx.Err())
	}
}
