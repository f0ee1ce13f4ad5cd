//go:build unix

package sqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// follow makes a policy the one in force, as it is.
func (w *world) follow(t testing.TB, p policy.Policy) *policy.Live {
	t.Helper()
	w.exec(t, "UPDATE settings SET version = version + 1, idle_timeout_ms = ?, absolute_lifetime_ms = ?, touch_interval_ms = ?, idle_base = ?, absolute_base = ?",
		p.Idle.Milliseconds(), p.Absolute.Milliseconds(), p.Touch.Milliseconds(), p.IdleBase.UnixMilli(), p.AbsoluteBase.UnixMilli())
	return policy.Fixed(p)
}

// endBefore is a policy by which nothing is over but what was issued, or last
// seen, at or before those instants, whatever the date of today is.
func (w *world) endBefore(ctx context.Context, issued, seen time.Time) error {
	const never = 100 * 365 * 24 * 3600 * 1000
	_, err := w.SQL().ExecContext(ctx, "UPDATE settings SET absolute_base = ?, idle_base = ?, absolute_lifetime_ms = ?, idle_timeout_ms = ? "+
		"WHERE scope = 'global' AND (absolute_base <> ? OR idle_base <> ? OR idle_timeout_ms <> ?)",
		issued.UnixMilli(), seen.UnixMilli(), never, never, issued.UnixMilli(), seen.UnixMilli(), never)
	return err
}

// endedBefore is endBefore for a test.
func (w *world) endedBefore(t testing.TB, issued, seen time.Time) {
	t.Helper()
	if err := w.endBefore(t.Context(), issued, seen); err != nil {
		t.Fatal(err)
	}
}

// sweep clears at most limit logins that were issued, or last seen, at or before
// those instants, as a pass does, by a policy that has ended these and no others.
func (w *world) sweep(ctx context.Context, issued, seen time.Time, limit int) (int, error) {
	if err := w.endBefore(ctx, issued, seen); err != nil {
		return 0, err
	}
	return w.clear(ctx, issued, seen, limit)
}

// clear is sweep by whatever policy there is.
func (w *world) clear(ctx context.Context, issued, seen time.Time, limit int) (int, error) {
	store := &sqlstore.Sweeps{DB: w.DB}
	now, floor, err := store.Head(ctx)
	marks := sweep.MarksOf(issued, seen, floor)
	marks.Now = now
	cleared := 0
	for stage := sweep.Expired; stage <= sweep.Idle && err == nil; stage++ {
		from, n := sweep.Cursor{Stage: stage}, 0
		for err == nil && cleared < limit && from.Stage == stage {
			var stale []sweep.Login
			if stale, from, err = store.Stale(ctx, marks, from, limit-cleared); err != nil || len(stale) == 0 && from.Stage > stage {
				break
			}
			n, err = store.Clear(ctx, marks, stage, stale, nil)
			cleared += n
		}
	}
	return cleared, err
}
