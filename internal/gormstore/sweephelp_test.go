//go:build unix

package gormstore_test

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/internal/gormstore"
	"github.com/flakepass/flakepass/internal/sweep"
)

// sweep clears at most limit logins that were issued, or last seen, at or before
// those instants, as a pass does.
func (w *world) sweep(ctx context.Context, issued, seen time.Time, limit int) (int, error) {
	store := &gormstore.Sweeps{DB: w.DB}
	_, floor, err := store.Head(ctx)
	marks := sweep.MarksOf(issued, seen, floor)
	cleared := 0
	for stage := sweep.Expired; stage <= sweep.Idle && err == nil; stage++ {
		from, n := sweep.Cursor{Stage: stage}, 0
		for err == nil && cleared < limit {
			var stale []sweep.Login
			if stale, err = store.Stale(ctx, marks, from, limit-cleared); err != nil || len(stale) == 0 {
				break
			}
			end := stale[len(stale)-1]
			from.Value, from.User = end.Value, end.User
			n, err = store.Clear(ctx, marks, stage, stale, nil)
			cleared += n
		}
	}
	return cleared, err
}
