package policy

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// A Loader reads the policy that is in force from where it is kept.
type Loader interface {
	LoadPolicy(ctx context.Context) (Policy, error)
}

// Live is the policy in force, as this instance knows it. It is safe for
// concurrent use, and asking it costs one atomic load.
type Live struct {
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
// force.
func (l *Live) Refresh(ctx context.Context) error {
	p, err := l.from.LoadPolicy(ctx)
	if err == nil {
		l.Apply(p)
	}
	return err
}

// Apply takes over a policy that was read from the database. An older version
// than the known one is ignored: answers of a database may overtake each other.
// The bases stay as they were read. An instance that raised them by a clock of
// its own would refuse what another accepts.
func (l *Live) Apply(p Policy) {
	for {
		known := l.rule.Load()
		if known != nil && known.Version >= p.Version {
			return
		}
		if known != nil && p.LimitsErr != nil {
			p.Limits = known.Limits // the last good ones
		}
		if l.rule.CompareAndSwap(known, &p) {
			return
		}
	}
}

// Follow returns a function that applies a policy, for whoever polls. It logs
// every change and, once for a version, that its limits cannot be read. One
// goroutine at a time may call it.
func (l *Live) Follow(log *slog.Logger) func(context.Context, Policy) {
	before, logged := l.Current(), int64(0)
	return func(ctx context.Context, read Policy) {
		l.Apply(read)
		p := l.Current()
		if p != before { // whoever has refreshed it
			before = p
			log.InfoContext(ctx, "policy changed", "version", p.Version, "idle", p.Idle, "absolute", p.Absolute,
				"touch", p.Touch, "schedule", p.Schedule, "by", p.UpdatedBy)
		}
		if p.LimitsErr != nil && p.Version != logged {
			logged = p.Version
			log.ErrorContext(ctx, "limits of the policy cannot be read; the last good ones stay in force, the default ones after a start; set them anew",
				"version", p.Version, "err", p.LimitsErr)
		}
	}
}
