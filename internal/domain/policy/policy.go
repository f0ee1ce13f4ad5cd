// Package policy says when a login is over. It is a value and pure functions
// of it: stores keep the facts (when a session was opened, when it was last
// seen), and the policy draws the conclusion at the moment of asking. So a
// change acts on living sessions at once, and no deadline is stored anywhere.
package policy

import (
	"errors"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

// A Policy is what an operator decided about the life of a login, and about how
// much strangers may try.
//
// The two bases make the watermarks [Policy.OldestIssued] and
// [Policy.OldestSeen] monotone: whoever changes a timeout raises the base to
// the watermark of that moment, so lengthening a timeout extends only what
// still lives and never revives what is over.
type Policy struct {
	Idle     time.Duration // a login unused for this long is over
	Absolute time.Duration // a login this old is over, used or not
	Touch    time.Duration // last seen is written at most this often
	Schedule string        // when the sweep runs: a cron expression, or @every

	// Limits are how much strangers may try. They end no login. If what is kept of
	// them cannot be read, they are the default ones, and LimitsErr says why: then
	// whoever knows better ones goes on with those, and nobody without any.
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
// replaced: somebody else has changed it meanwhile.
var ErrVersion = errors.New("the policy was changed meanwhile")

// Changed reports whether somebody has set p. Of the first version, which the
// first migration writes, nobody has: its time is that of no change.
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
