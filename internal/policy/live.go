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
	// Now tells the time. nil means time.Now. Set it before the first Refresh that
	// may find a change.
	Now func() time.Time

	from Loader
	rule atomic.Pointer[Policy]
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
	l.rule.Store(&p)
	return l
}

// Current is the policy in force. The caller must not change it.
func (l *Live) Current() *Policy { return l.rule.Load() }

// Refresh reads the policy again. On failure the one known so far stays in
// force. An older version than the known one is ignored: answers of a database
// may overtake each other.
func (l *Live) Refresh(ctx context.Context) error {
	p, err := l.from.LoadPolicy(ctx)
	if err != nil {
		return err
	}
	for {
		known := l.rule.Load()
		if known != nil {
			if known.Version >= p.Version {
				return nil
			}
			// What this instance has refused by its own clock it goes on refusing,
			// although the clock by which the bases were raised is behind.
			now := l.clock()
			p.IdleBase = later(p.IdleBase, known.OldestSeen(now))
			p.AbsoluteBase = later(p.AbsoluteBase, known.OldestIssued(now))
			if p.LimitsErr != nil {
				p.Limits = known.Limits // the last good ones
			}
		}
		if l.rule.CompareAndSwap(known, &p) {
			return nil
		}
	}
}

func (l *Live) clock() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

// Follow returns a function that refreshes the policy, for whoever polls. It
// logs the first failure of a row of failures, every change, and, once for a
// version, that its limits cannot be read. One goroutine at a time may call it.
func (l *Live) Follow(log *slog.Logger) func(context.Context) error {
	failing, before, told := false, l.Current(), int64(0)
	return func(ctx context.Context) error {
		err := l.Refresh(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			log.WarnContext(ctx, "policy not read; the last one stays in force", "err", err)
		}
		failing = err != nil
		if p := l.Current(); p != before { // whoever has refreshed it
			before = p
			log.InfoContext(ctx, "policy changed", "version", p.Version, "idle", p.Idle, "absolute", p.Absolute,
				"touch", p.Touch, "schedule", p.Schedule, "by", p.UpdatedBy)
		}
		if p := l.Current(); p.LimitsErr != nil && p.Version != told {
			told = p.Version
			log.ErrorContext(ctx, "limits of the policy cannot be read; the last good ones stay in force, the default ones after a start; set them anew",
				"version", p.Version, "err", p.LimitsErr)
		}
		return err
	}
}
