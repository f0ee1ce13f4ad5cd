// Package touchtier writes behind when sessions were last used: a
// [session.Store] in front of the user rows whose Touch costs no I/O.
package touchtier

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/policy"
	"github.com/flakepass/flakepass/internal/session"
)

// A Writer writes many times of last use at once. It must not revive: a session
// that has ended, or was last seen at or before oldest, is left alone. A row is
// written only if that moves its time forward by at least gap, so that any
// number of instances write a row at most once per gap.
type Writer interface {
	TouchAll(ctx context.Context, seen map[idworker.ID]time.Time, oldest time.Time, gap time.Duration) error
}

// A Tier gathers touches until [Tier.Run] writes them. Make one with [New].
type Tier struct {
	session.Store // everything but Touch is the next tier's
	to            Writer
	policy        interface{ Current() *policy.Policy }
	log           *slog.Logger

	mu      sync.Mutex
	pending map[idworker.ID]time.Time
}

var _ session.Store = (*Tier)(nil)

// limit is how many sessions may wait to be written. Beyond it touches are
// dropped: a login that is used on will be touched again.
const limit = 1 << 20

// New returns a tier in front of next that writes to w.
func New(next session.Store, w Writer, p interface{ Current() *policy.Policy }, log *slog.Logger) *Tier {
	return &Tier{Store: next, to: w, policy: p, log: log, pending: make(map[idworker.ID]time.Time)}
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
				t.log.WarnContext(last, "times of last use lost", "err", err)
			}
			return
		case <-tick.C:
		}
		err := t.Flush(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			t.log.WarnContext(ctx, "times of last use not written; trying again", "err", err)
		}
		failing = err != nil
	}
}

// Flush writes what has gathered so far.
func (t *Tier) Flush(ctx context.Context) error {
	t.mu.Lock()
	batch := t.pending
	t.pending = make(map[idworker.ID]time.Time)
	t.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	rule := t.policy.Current()
	err := t.to.TouchAll(ctx, batch, rule.OldestSeen(time.Now()), rule.Touch)
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		for id, at := range batch {
			t.note(id, at)
		}
	}
	return err
}
