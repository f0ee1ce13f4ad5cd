// Package policy decides when a login is over. A policy is a value with pure functions.
// Stores keep the facts: when a session was opened, and when it was last seen. The
// policy decides from these facts at each check. So a change applies to living sessions
// at once, and no deadline is stored.
package policy

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

// A Policy is what an operator has set: how long logins last, and the rate limits.
//
// The two bases make the watermarks [Policy.OldestIssued] and
// [Policy.OldestSeen] monotone: a change of a timeout raises the base to
// the watermark of that moment, so lengthening a timeout extends only what
// still lives and never revives what is over.
type Policy struct {
	Idle     time.Duration // a login unused for this long is over
	Absolute time.Duration // a login this old is over, used or not
	Touch    time.Duration // last seen is written at most this often
	Schedule string        // when the sweep runs: a cron expression, or @every

	// Limits are the rate limits. They end no login. If the stored ones cannot be read,
	// they are the default ones, and LimitsErr says why. An instance that has read
	// others before keeps those then, so that no instance runs without limits.
	Limits    limit.Limits
	LimitsErr error

	IdleBase     time.Time // last seen at or before this: over, whatever Idle says
	AbsoluteBase time.Time // issued at or before this: over, whatever Absolute says

	Version   int64     // raised by every change
	UpdatedAt time.Time // see Changed
	UpdatedBy string
	Note      string // what its author gave as a reason
}

// ErrVersion means that the policy is not of the version that was to be
// replaced: another has changed it meanwhile.
var ErrVersion = errors.New("the policy was changed meanwhile")

// Changed reports whether an operator has set p. No operator has set the first
// version, which the first migration writes: its time is that of no change.
func (p *Policy) Changed() bool { return p.UpdatedAt.UnixMilli() > 0 }

// Default is the policy of a new deployment: 14 days idle, 30 days absolute
// (NIST SP 800-63B-4 section 2.1.3 asks for no more than 30), touched once a
// minute, swept every minute. The first migration writes the same values.
func Default() Policy {
	const day = 24 * time.Hour
	return Policy{Idle: 14 * day, Absolute: 30 * day, Touch: time.Minute, Schedule: "@every 1m", Limits: limit.Default(), Version: 1}
}

// OldestIssued is the watermark of the absolute lifetime: a login issued at or
// before it is over. It never moves back, provided now does not.
func (p *Policy) OldestIssued(now time.Time) time.Time {
	return later(p.AbsoluteBase, now.Add(-p.Absolute))
}

// OldestSeen is the watermark of the idle timeout: a login last seen at or
// before it is over. It never moves back, provided now does not.
func (p *Policy) OldestSeen(now time.Time) time.Time {
	return later(p.IdleBase, now.Add(-p.Idle))
}

// Expired reports whether a login issued then has outlived its absolute
// lifetime.
func (p *Policy) Expired(issued, now time.Time) bool {
	return !issued.After(p.OldestIssued(now))
}

// Idled reports whether a login last seen then has been unused for too long.
func (p *Policy) Idled(seen, now time.Time) bool {
	return !seen.After(p.OldestSeen(now))
}

// ExpiresAt is when a login issued then ends however much it is used.
func (p *Policy) ExpiresAt(issued time.Time) time.Time { return issued.Add(p.Absolute) }

// IdleExpiresAt is when a login ends if it is not used again after seen: never
// later than [Policy.ExpiresAt].
func (p *Policy) IdleExpiresAt(issued, seen time.Time) time.Time {
	end, idle := p.ExpiresAt(issued), seen.Add(p.Idle)
	if idle.Before(end) {
		return idle
	}
	return end
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

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

// NewLive reads the policy once, so that no check has to guess it.
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

// Follow returns a function that applies a policy, for a poll. It logs
// every change and, once for a version, that its limits cannot be read. One
// goroutine at a time may call it.
func (l *Live) Follow(log *slog.Logger) func(context.Context, Policy) {
	before, logged := l.Current(), int64(0)
	return func(ctx context.Context, read Policy) {
		l.Apply(read)
		p := l.Current()
		if p != before { // another call may have refreshed it
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
