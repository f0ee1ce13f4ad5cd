package layer

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A Writer writes many times of last use at once, and returns the time of last
// use that each row has afterwards: zero for a session that has ended, or is over
// by the policy of that moment. One that is missing is locked by another transaction,
// and is to be tried again. A row is written only if that moves its time forward by at
// least gap, so that any number of instances write a row at most once per gap.
// After an error the rows in the answer are as it says; others may be written or not.
type Writer interface {
	TouchAll(ctx context.Context, seen map[idworker.ID]time.Time, gap time.Duration) (map[idworker.ID]time.Time, error)
}

// WriteBehindOptions says what a [WriteBehind] writes to.
type WriteBehindOptions struct {
	To     Writer
	Policy interface{ Current() *policy.Policy }
	// Written, if set, is called with what the row of a session says after a use of it
	// was written; the zero time if it refused the use.
	Written func(id idworker.ID, seen time.Time)
	Log     *slog.Logger
}

// A WriteBehind gathers touches until [WriteBehind.Run] writes them, so that Touch
// costs no I/O. Make one with [NewWriteBehind].
type WriteBehind struct {
	session.Store // everything but Touch is the next one's
	WriteBehindOptions

	mu      sync.Mutex
	pending map[idworker.ID]time.Time
}

var _ session.Store = (*WriteBehind)(nil)

const (
	// mostPending is how many sessions may wait to be written. Beyond it touches are
	// dropped: a login that is used on will be touched again.
	mostPending = 1 << 20

	// batch is how many rows are written at once: enough to spare round trips, few
	// enough that no request waits long for a row.
	batch = 200
)

// NewWriteBehind returns one in front of next.
func NewWriteBehind(next session.Store, o WriteBehindOptions) *WriteBehind {
	return &WriteBehind{Store: next, WriteBehindOptions: o, pending: make(map[idworker.ID]time.Time)}
}

// Touch notes that a session was used then. It does not wait.
func (t *WriteBehind) Touch(_ context.Context, id idworker.ID, seen time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(id, seen)
	return nil
}

func (t *WriteBehind) note(id idworker.ID, seen time.Time) {
	if at, ok := t.pending[id]; (ok && seen.After(at)) || (!ok && len(t.pending) < mostPending) {
		t.pending[id] = seen
	}
}

// Run writes what has gathered at that interval, until ctx ends; then once
// more, within a few seconds. What could not be written is kept for the next
// time.
func (t *WriteBehind) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
			defer cancel()
			if err := t.Flush(last); err != nil {
				t.Log.WarnContext(last, "times of last use lost", "err", err)
			}
			return
		case <-tick.C:
		}
		err := t.Flush(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			t.Log.WarnContext(ctx, "times of last use not written; trying again", "err", err)
		}
		failing = err != nil
	}
}

// Flush writes what has gathered so far. What may not have been written it keeps:
// to write a use twice does no harm.
func (t *WriteBehind) Flush(ctx context.Context) error {
	t.mu.Lock()
	uses := t.pending
	t.pending = make(map[idworker.ID]time.Time)
	t.mu.Unlock()
	var failed error
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(uses)), batch) {
		part := make(map[idworker.ID]time.Time, len(ids))
		for _, id := range ids {
			part[id] = uses[id]
		}
		rows, err := t.To.TouchAll(ctx, part, t.Policy.Current().ShortestTouch())
		for id, seen := range rows {
			delete(uses, id)
			if t.Written != nil {
				t.Written(id, seen)
			}
		}
		if failed = cmp.Or(failed, err); err != nil && len(rows) == 0 {
			break // most likely none can be written
		}
	}
	t.keep(uses)
	return failed
}

// keep takes uses back that are not written yet.
func (t *WriteBehind) keep(uses map[idworker.ID]time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, at := range uses {
		t.note(id, at)
	}
}
