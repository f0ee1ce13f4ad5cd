package audit

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A Shredder deletes events. DeleteBefore deletes at most limit of those older
// than the ID before, the oldest first, and returns how many it has deleted. Fewer
// than limit means that there are no more. It waits for no lock for long. Clock is
// that of the store.
type Shredder interface {
	DeleteBefore(ctx context.Context, before idworker.ID, limit int) (int, error)
	Clock(ctx context.Context) (time.Time, error)
}

// The limits of one call of [Retention.Purge].
const (
	purgeBatch = 500
	purgeTime  = 10 * time.Second // the next call goes on
)

// A Retention deletes what has been on record for long enough. Set the fields
// once, before use.
type Retention struct {
	Store Shredder
	// Keep is how long an event is kept; 0 is for ever.
	Keep time.Duration
	Now  func() time.Time
	Log  *slog.Logger
}

// Purge deletes events older than Keep, in small batches with as long a pause
// after each as it took, for at most ten seconds, and returns how many. What it
// leaves then, or when it fails, is deleted by the next call. Any number of
// instances may call it at the same time.
//
// What is deleted is gone: so the time is that of this machine or that of the
// store, whichever is behind.
func (r *Retention) Purge(ctx context.Context) (int64, error) {
	if r.Keep <= 0 {
		return 0, nil
	}
	now, err := r.Store.Clock(ctx)
	if err != nil {
		return 0, fmt.Errorf("audit: purge: %w", err)
	}
	if mine := r.Now(); mine.Before(now) {
		now = mine
	}
	before := idworker.Default().Smallest(now.Add(-r.Keep))
	var all int64
	for begin := time.Now(); time.Since(begin) < purgeTime; {
		start := time.Now()
		n, err := r.Store.DeleteBefore(ctx, before, purgeBatch)
		if err != nil {
			return all, fmt.Errorf("audit: purge: %w", err)
		}
		if all += int64(n); n < purgeBatch {
			break
		}
		select {
		case <-ctx.Done():
			return all, ctx.Err()
		case <-time.After(time.Since(start)):
		}
	}
	return all, nil
}

// AfterSweep is Purge for the job that sweeps: what was deleted, and what went
// wrong, is in the log.
func (r *Retention) AfterSweep(ctx context.Context) {
	n, err := r.Purge(ctx)
	if n > 0 {
		r.Log.InfoContext(ctx, "old events deleted from the record", "deleted", n, "kept_for", r.Keep)
	}
	if err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "old events not deleted from the record; the next sweep tries again", "err", err)
	}
}
