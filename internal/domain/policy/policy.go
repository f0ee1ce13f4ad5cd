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

// A Policy is what an operator has set: how long logins last, how many a user has, and
// the rate limits. [Policy.For] says what it makes of one login.
type Policy struct {
	Idle     time.Duration // a login unused for this long is over
	Absolute time.Duration // a login this old is over, used or not
	Touch    time.Duration // last seen is written at most this often
	Schedule string        // when the sweep runs: a cron expression, or @every

	// MaxSessions is how many sessions a user has at once: 1 to [MostSessions]. A lower
	// number ends those that are too many, the least recently used first. They do not come
	// back with a higher one.
	MaxSessions int
	// Further means that this policy or an earlier one allows more than one session a user,
	// or has overrides. It is read, and not set.
	Further bool
	// LoweredIn is the last version that allowed fewer sessions than the one before, of a user or on
	// some class, and LoweredAt is when it came. They are worked out, and not set.
	LoweredIn int64
	LoweredAt time.Time

	// Refuse means that a login above the number of sessions is refused. Otherwise it ends
	// the session that was least recently used.
	Refuse bool
	// Classes are the device classes that a client may name; nil are [DefaultClasses].
	Classes []string
	// Overrides are what differs by device class and by role: at most [MostOverrides].
	Overrides []Override
	// Scopes is what the overrides make of each class with each role; nil if they make
	// nothing of it. It is worked out, and not set: see [Policy.Succeed].
	Scopes map[Scope]Expiry

	// Limits are the rate limits. They end no login. If the stored ones cannot be read,
	// they are the default ones, and LimitsErr says why. An instance that has read
	// others before keeps those then, so that no instance runs without limits.
	Limits    limit.Limits
	LimitsErr error

	IdleBase     time.Time // see Expiry
	AbsoluteBase time.Time

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
	return Policy{Idle: 14 * day, Absolute: 30 * day, Touch: time.Minute, Schedule: "@every 1m", MaxSessions: 1, Limits: limit.Default(), Version: 1}
}

// A Scope is some of the logins: on devices of that class, of users of that role. In a
// table of scopes the empty class is every class, and the empty role every role, that the
// table does not name.
type Scope struct{ Class, Role string }

// For is what p makes of a login on a device of that class, of a user of that role.
func (p *Policy) For(class, role string) Expiry {
	if p.Scopes == nil {
		return p.base()
	}
	// The table has each named class with each named role.
	for _, s := range [...]Scope{{class, role}, {class, ""}, {"", role}} {
		if e, ok := p.Scopes[s]; ok {
			return e
		}
	}
	return p.base()
}

// base is p without its overrides.
func (p *Policy) base() Expiry {
	return Expiry{p.Idle, p.Absolute, p.Touch, p.IdleBase, p.AbsoluteBase}
}

// OtherClass is the class of a device of which the client says nothing. It is always one of
// those that a client may name.
const OtherClass = "other"

// DefaultClasses are the device classes of a new deployment.
func DefaultClasses() []string {
	return []string{"phone", "tablet", "desktop", "web", "tv", OtherClass}
}

// DeviceClasses are those that a client may name.
func (p *Policy) DeviceClasses() []string {
	if p.Classes == nil {
		return DefaultClasses()
	}
	return p.Classes
}

// MostOn is how many sessions a user has at once on devices of that class.
func (p *Policy) MostOn(class string) int {
	for i := range p.Overrides {
		if o := &p.Overrides[i]; o.Scope.Class == class && class != "" && o.MaxSessions != 0 {
			return min(o.MaxSessions, p.MaxSessions)
		}
	}
	return p.MaxSessions
}

// An Expiry says when one login is over: what the policy makes of its device class and
// its role. See [Policy.For].
//
// The two bases make the watermarks [Expiry.OldestIssued] and [Expiry.OldestSeen]
// monotone: a change of a policy raises the base to the watermark of that moment, so
// lengthening a timeout extends only what still lives and never revives what is over.
type Expiry struct {
	Idle     time.Duration // a login unused for this long is over
	Absolute time.Duration // a login this old is over, used or not
	Touch    time.Duration // last seen is written at most this often

	IdleBase     time.Time // last seen at or before this: over, whatever Idle says
	AbsoluteBase time.Time // issued at or before this: over, whatever Absolute says
}

// Passive is what e makes of a session of which no use counts: it is over when it is as old
// as most, or earlier if e says so, and has no idle timeout of its own.
func (e Expiry) Passive(most time.Duration) Expiry {
	e.Absolute = min(e.Absolute, most)
	e.Idle, e.Touch, e.IdleBase = e.Absolute, e.Absolute, e.AbsoluteBase
	return e
}

// OldestIssued is the watermark of the absolute lifetime: a login issued at or
// before it is over. It never moves back, provided now does not.
func (e Expiry) OldestIssued(now time.Time) time.Time {
	return later(e.AbsoluteBase, now.Add(-e.Absolute))
}

// OldestSeen is the watermark of the idle timeout: a login last seen at or
// before it is over. It never moves back, provided now does not.
func (e Expiry) OldestSeen(now time.Time) time.Time {
	return later(e.IdleBase, now.Add(-e.Idle))
}

// Expired reports whether a login issued then has outlived its absolute
// lifetime.
func (e Expiry) Expired(issued, now time.Time) bool {
	return !issued.After(e.OldestIssued(now))
}

// Idled reports whether a login last seen then has been unused for too long.
func (e Expiry) Idled(seen, now time.Time) bool {
	return !seen.After(e.OldestSeen(now))
}

// ExpiresAt is when a login issued then ends however much it is used.
func (e Expiry) ExpiresAt(issued time.Time) time.Time { return issued.Add(e.Absolute) }

// IdleExpiresAt is when a login ends if it is not used again after seen: never
// later than [Expiry.ExpiresAt].
func (e Expiry) IdleExpiresAt(issued, seen time.Time) time.Time {
	end, idle := e.ExpiresAt(issued), seen.Add(e.Idle)
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
	// Lowered, if set, is called before a policy is in force here, if this policy, or one that
	// this instance has missed since the known one, allows fewer sessions than the one before.
	// Set it before use.
	Lowered func()

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
// than the known one is ignored: answers of a database may overtake each other. One that
// was set later is not, whatever its version, nor another one of the same version, whatever the clocks
// of two servers show: the database may have lost the known one.
// The bases stay as they were read. An instance that raised them by a clock of
// its own would refuse what another accepts.
func (l *Live) Apply(p Policy) {
	for {
		known := l.rule.Load()
		if known != nil && (known.Version > p.Version && !p.UpdatedAt.After(known.UpdatedAt) || known.Version == p.Version && p.UpdatedAt.Equal(known.UpdatedAt)) {
			return
		}
		if known != nil && p.LimitsErr != nil {
			p.Limits = known.Limits // the last good ones
		}
		lower := known != nil && (known.Lowers(&p) || p.LoweredIn > known.Version)
		if lower && l.Lowered != nil {
			l.Lowered()
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
				"touch", p.Touch, "schedule", p.Schedule, "max_sessions", p.MaxSessions, "overrides", len(p.Overrides))
		}
		if p.LimitsErr != nil && p.Version != logged {
			logged = p.Version
			log.ErrorContext(ctx, "limits of the policy cannot be read; the last good ones stay in force, the default ones after a start; set them anew",
				"version", p.Version, "err", p.LimitsErr)
		}
	}
}
