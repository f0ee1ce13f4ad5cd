package idworker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// askTimeout bounds one question to the Lender, however patient the caller:
	// all others that need a range wait for the answer.
	askTimeout = 5 * time.Second

	retryFirst = 50 * time.Millisecond
	retryMost  = time.Second
)

// A retry is the patience of what runs beside the minting: of [Worker.Run] and
// [Ring.Run].
type retry struct{ pause time.Duration }

// after takes the outcome of an attempt. It reports whether the running is over,
// and with what; otherwise pause is how long to wait before the next attempt, 0
// after a success.
func (r *retry) after(ctx context.Context, err error) (over bool, result error) {
	switch {
	case err == nil:
		r.pause = 0
		return false, nil
	case errors.Is(err, ErrClosed):
		return true, nil
	case ctx.Err() != nil:
		return true, ctx.Err()
	case errors.Is(err, ErrExhausted):
		return true, err
	}
	r.pause = min(max(2*r.pause, retryFirst), retryMost)
	return false, nil
}

// A flight is one renewal under way, for all callers that need it.
type flight struct {
	done     chan struct{}
	err      error // valid when done is closed
	canceled bool  // by the context of the caller who flew, not by the Lender
}

// Run keeps the range extended, off the path of minting: it asks when half of
// the window is left, and again after a failure. It returns nil when the Worker
// is closed, the error of ctx when that ends, or [ErrExhausted].
//
// Without Run, Next asks when the range is used up, which costs that call the
// time of a question.
func (w *Worker) Run(ctx context.Context) error {
	var again retry
	for {
		g := w.grant.Load()
		now := w.clock.milli()
		if w.policy == ClockIgnore { // uses its range up sooner or later than that
			now = max(now, w.tickOf(w.last())*w.layout.unit())
		}
		left := time.Duration(g.lent.Until.UnixMilli()-w.layout.Epoch.UnixMilli()-now) * time.Millisecond
		timer := time.NewTimer(max(again.pause, left-g.window/2))
		select {
		case <-timer.C:
		case <-w.closed:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		if over, err := again.after(ctx, w.renew(ctx, g)); over {
			return err
		}
	}
}

// renew returns once there is another grant than seen. One caller at a time
// asks the Lender; the others wait for its answer or their own context, so an
// outage costs all callers the time of one question, not one after another.
func (w *Worker) renew(ctx context.Context, seen *grant) error {
	for {
		w.mu.Lock()
		if w.done {
			w.mu.Unlock()
			return ErrClosed
		}
		if w.flight == nil {
			if w.grant.Load() != seen {
				w.mu.Unlock()
				return nil
			}
			f := &flight{done: make(chan struct{})}
			w.flight = f
			w.mu.Unlock()
			return w.fly(ctx, f, seen)
		}
		f := w.flight
		w.mu.Unlock()

		select {
		case <-f.done:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrNoGrant, ctx.Err())
		}
		if !f.canceled {
			return f.err
		}
	}
}

func (w *Worker) fly(ctx context.Context, f *flight, g *grant) error {
	f.err = ErrNoGrant // should the Lender panic
	defer func() {
		f.canceled = f.err != nil && ctx.Err() != nil
		w.mu.Lock()
		w.flight = nil
		w.mu.Unlock()
		close(f.done)
	}()
	ask, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	f.err = w.extend(ask, g)
	w.renewed(f.err, ctx.Err() != nil)
	return f.err
}

// extend makes the range longer or, if the number is lost, gets another.
func (w *Worker) extend(ctx context.Context, g *grant) error {
	if back := w.clock.look(); back > 0 {
		w.steppedBack(back)
	}
	tick := max(w.clock.tick(), w.tickOf(w.word.Load()&^closedWord)) + 1
	if tick >= w.end() || w.tickOf(g.hi) >= w.end() {
		return ErrExhausted // in the last window Run ends, and Next goes on to the end
	}
	var lost error
	if g.lent.Token != "" {
		window := min(2*g.window, w.most)
		until := w.instant(tick).Add(window)
		if end := w.instant(w.end()); until.After(end) {
			until = end
		}
		lent, err := w.lender.Extend(ctx, g.lent, until)
		switch {
		case err == nil && lent.Until.Before(until):
			return fmt.Errorf("%w: asked for a range until %v and got %v", ErrNoGrant, until, lent.Until)
		case err == nil:
			// The fence was the owner's alone since the number was acquired, so
			// all of [lo, hi) is ours, including what an answer that got lost
			// has added.
			n := w.grantOf(lent, window)
			n.lo, n.node, n.hi = g.lo, g.node, max(g.lo, n.hi)
			w.grant.Store(n)
			return nil
		case !errors.Is(err, ErrLost):
			return fmt.Errorf("%w: %w", ErrNoGrant, err)
		}
		lost = err
	}
	if err := w.acquire(ctx); err != nil {
		if lost == nil {
			return fmt.Errorf("%w: %w", ErrNoGrant, err)
		}
		return fmt.Errorf("%w: %w: %w", ErrNoGrant, lost, err)
	}
	return nil
}

// acquire gets a number and begins to mint under it.
func (w *Worker) acquire(ctx context.Context) error {
	lent, err := w.lender.Acquire(ctx, w.first)
	if err != nil {
		return err
	}
	if n := int64(lent.Number); n < 0 || n >= w.layout.Numbers() {
		err = fmt.Errorf("%w: worker number %d", ErrLayout, n)
	} else if err = w.publish(lent); err == nil {
		now := w.clock.milli()
		w.counts.acquired.Store(now)
		w.counts.fenced.Store(now)
		return nil
	}
	// Nothing was minted from it. If it cannot be handed back, it is wasted.
	return errors.Join(err, w.lender.Release(ctx, lent, lent.From))
}
