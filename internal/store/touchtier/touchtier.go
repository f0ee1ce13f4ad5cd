// Package touchtier writes behind when sessions were last used: a
// [session.Store] in front of the user rows whose Touch costs no I/O.
package touchtier

import (
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
// by the policy of that moment. One that is missing is held by somebody else, and
// is to be tried again. A row is written only if that moves its time forward by at
// least gap, so that any number of instances write a row at most once per gap.
// After an error it may be written or not.
type Writer interface {
	TouchAll(ctx context.Context, seen map[idworker.ID]time.Time, gap time.Duration) (map[idworker.ID]time.Time, error)
}

// Options says what a [Tier] writes to, and who hears of it.
type Options struct {
	To     Writer
	Policy interface{ Current() *policy.Policy }
	// Written, if set, is told what the row of a session says after a use of it was
	// written; the zero time if it refused the use.
	Written func(id idworker.ID, seen time.Time)
	Log     *slog.Logger
}

// A Tier gathers touches until [Tier.Run] writes them. Make one with [New].
type Tier struct {
	session.Store // everything but Touch is the next tier's
	Options

	mu      sync.Mutex
	pending map[idworker.ID]time.Time
}

var _ session.Store = (*Tier)(nil)

const (
	// limit is how many sessions may wait to be written. Beyond it touches are
	// dropped: a login that is used on will be touched again.
	limit = 1 << 20

	// batch is how many rows are written at once: enough to spare round trips, few
	// enough that nobody waits long for a row.
	batch = 200
)

// New returns a tier in front of next.
func New(next session.Store, o Options) *Tier {
	return &Tier{Store: next, Options: o, pending: make(map[idworker.ID]time.Time)}
}

// Touch notes that a session was used then. It does not wait.
func (t *Tier) Touch(_ context.Context, id idworker.ID, seen time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(id, seen)
	return nil
}

func (t *Tier) note(id idworker.ID, seen time.Time) {
	if at, ok := t.pending[id]; (ok && seen.After(at)) || (!ok && len(t.pending) < limit) {
		t.pending[id] = seen
	}
}

// Run writes what has gathered at that interval, until ctx ends; then once
// more, within a few seconds. What could not be written is kept for the next
// time.
func (t *Tier) Run(ctx context.Context, every time.Duration) {
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
func (t *Tier) Flush(ctx context.Context) error {
	t.mu.Lock()
	uses := t.pending
	t.pending = make(map[idworker.ID]time.Time)
	t.mu.Unlock()
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(uses)), batch) {
		part := make(map[idworker.ID]time.Time, len(ids))
		for _, id := range ids {
			part[id] = uses[id]
		}
		rows, err := t.To.TouchAll(ctx, part, t.Policy.Current().Touch)
		if err != nil {
			t.keep(uses)
			return err
		}
		for id, seen := range rows {
			delete(uses, id)
			if t.Written != nil {
				t.Written(id, seen)
			}
		}
	}
	t.keep(uses)
	return nil
}

// keep takes uses back that came to nothing yet.
func (t *Tier) keep(uses map[idworker.ID]time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, at := range uses {
		t.note(id, at)
	}
}
