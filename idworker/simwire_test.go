package idworker_test

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A wire is what one life sees of the store. Questions and answers take their
// time, and arrive late or never; the process may end before either.
type wire struct {
	store *store
	life  *life
	sched *scheduler
}

func (w *wire) Acquire(ctx context.Context, window time.Duration) (idworker.Grant, error) {
	return w.ask(ctx, func() (idworker.Grant, error) {
		return w.store.acquire(w.life, w.life.clock.show(), window)
	})
}

func (w *wire) Extend(ctx context.Context, g idworker.Grant, until time.Time) (idworker.Grant, error) {
	return w.ask(ctx, func() (idworker.Grant, error) { return w.store.Extend(ctx, g, until) })
}

func (w *wire) Release(ctx context.Context, g idworker.Grant, used time.Time) error {
	_, err := w.ask(ctx, func() (idworker.Grant, error) { return g, w.store.Release(ctx, g, used) })
	return err
}

func (w *wire) ask(ctx context.Context, do func() (idworker.Grant, error)) (idworker.Grant, error) {
	w.sched.yield(w.life)
	slow := w.store.draw(24)
	if slow == 0 {
		if err := w.linger(ctx, do); err != nil {
			return idworker.Grant{}, err
		}
	}
	g, err := do()
	if slow == 1 {
		if err := w.linger(ctx, nil); err != nil {
			return idworker.Grant{}, err
		}
	}
	w.sched.yield(w.life)
	return g, err
}

// linger is slower than some callers wait. A question that its caller has given
// up may still arrive.
func (w *wire) linger(ctx context.Context, late func() (idworker.Grant, error)) error {
	d := time.Duration(w.store.draw(int(8 * time.Second)))
	arrives := late != nil && w.store.draw(2) == 0
	timer := time.NewTimer(d)
	defer timer.Stop()
	start := time.Now()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
	}
	if arrives {
		time.AfterFunc(d-time.Since(start), func() { _, _ = late() })
	}
	return ctx.Err()
}
