package policy

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// A Loader reads the policy that is in force from where it is kept.
type Loader interface {
	LoadPolicy(ctx context.Context) (Policy, error)
}

// Live is the policy in force, as this instance knows it. It is safe for
// concurrent use, and asking it costs one atomic load.
type Live struct {
	from Loader
	now  atomic.Pointer[Policy]
}

// NewLive reads the policy once, so that no question is ever answered by a
// guess.
func NewLive(ctx context.Context, from Loader) (*Live, error) {
	l := &Live{from: from}
	return l, l.Refresh(ctx)
}

// Fixed is a Live that never changes.
func Fixed(p Policy) *Live {
	l := &Live{}
	l.now.Store(&p)
	return l
}

// Current is the policy in force. The caller must not change it.
func (l *Live) Current() *Policy { return l.now.Load() }

// Refresh reads the policy again. On failure the one known so far stays in
// force. An older version than the known one is ignored: answers of a database
// may overtake each other.
func (l *Live) Refresh(ctx context.Context) error {
	p, err := l.from.LoadPolicy(ctx)
	if err != nil {
		return err
	}
	for {
		known := l.now.Load()
		if known != nil {
			if known.Version >= p.Version {
				return nil
			}
			// What this instance has refused by its own clock it goes on refusing,
			// although the clock by which the bases were raised is behind.
			now := time.Now()
			p.IdleBase = later(p.IdleBase, known.OldestSeen(now))
			p.AbsoluteBase = later(p.AbsoluteBase, known.OldestIssued(now))
		}
		if l.now.CompareAndSwap(known, &p) {
			return nil
		}
	}
}

// Follow returns a function that refreshes the policy, for whoever polls. It
// logs the first failure of a row of failures, and every change. One goroutine
// at a time may call it.
func (l *Live) Follow(log *slog.Logger) func(context.Context) error {
	failing := false
	return func(ctx context.Context) error {
		before := l.Current()
		err := l.Refresh(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			log.WarnContext(ctx, "policy not read; the last one stays in force", "err", err)
		}
		failing = err != nil
		if p := l.Current(); p != before {
			log.InfoContext(ctx, "policy changed", "version", p.Version, "idle", p.Idle, "absolute", p.Absolute,
				"touch", p.Touch, "schedule", p.Schedule, "by", p.UpdatedBy)
		}
		return err
	}
}
