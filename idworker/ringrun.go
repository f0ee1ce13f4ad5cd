package idworker

import (
	"context"
	"time"
)

// Run fills the ring at the beginning, whenever it is below the threshold, and
// on schedule, and tries again after a failure. It returns nil when the Worker
// is closed, the error of ctx when that ends, or [ErrExhausted]. Without Run,
// callers fill the ring when it is empty.
func (r *Ring) Run(ctx context.Context) error {
	var due <-chan time.Time
	if r.every > 0 {
		tick := time.NewTicker(r.every)
		defer tick.Stop()
		due = tick.C
	}
	var again retry
	replace := 0
	for {
		over, err := again.after(ctx, r.pad(ctx, replace))
		if over {
			return err
		}
		replace = 0
		// In any case, or a failure would end the filling for good.
		r.nudged.Store(false)
		wake := r.wake
		var late <-chan time.Time
		switch {
		case again.pause > 0:
			wake = nil // callers in need do not make an outage shorter
			late = time.After(again.pause)
		case r.Len() < int(r.low): // taken while the nudge was still on
			continue
		}
		select {
		case <-wake:
		case <-late:
		case <-due:
			if r.full == FullReplace {
				replace = len(r.slots)
			}
		case <-r.w.closed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pad fills what is free, and then puts new IDs in the place of the oldest
// until it has put in as many as replace says. Between two chunks others may
// fill, and callers with little patience are not kept waiting for all of it.
func (r *Ring) pad(ctx context.Context, replace int) error {
	for done := 0; ; {
		n, err := r.chunk(ctx, replace-done)
		if n == 0 || err != nil {
			return err
		}
		done += n
	}
}

func (r *Ring) chunk(ctx context.Context, replace int) (int, error) {
	if err := r.begin(ctx); err != nil {
		return 0, err
	}
	defer r.end()
	want := min(len(r.buf), max(replace, len(r.slots)-r.Len()))
	if want == 0 {
		return 0, nil
	}
	n, err := r.w.NextN(ctx, r.buf[:want])
	r.drop(n)
	r.push(r.buf[:n])
	return n, err
}
