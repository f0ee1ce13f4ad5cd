package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/limit"
)

// The limits of a policy.
const (
	MinIdle     = 5 * time.Minute
	MaxAbsolute = 400 * 24 * time.Hour
	MinTouch    = time.Second
)

// Codes of what is wrong with a field.
const (
	CodeTooShort = "too_short"
	CodeTooLong  = "too_long"
	CodeInvalid  = "invalid"

	CodeUnreadable = "unreadable"
)

// Check returns an [*invalid.Error] with everything that is wrong with the times
// and the limits of p, or nil. The schedule is the sweep's to check.
func (p *Policy) Check() error {
	all := &invalid.Error{Sentences: true}
	wrong := func(field, code, format string, args ...any) { all.Add(field, code, fmt.Sprintf(format, args...)) }
	switch {
	case p.Idle < MinIdle:
		wrong("idle_timeout_seconds", CodeTooShort, "the idle timeout must be at least %v", MinIdle)
	case p.Idle > p.Absolute:
		wrong("idle_timeout_seconds", CodeTooLong, "the idle timeout must not be longer than the absolute lifetime")
	}
	switch {
	case p.Absolute < MinIdle:
		wrong("absolute_lifetime_seconds", CodeTooShort, "the absolute lifetime must be at least %v", MinIdle)
	case p.Absolute > MaxAbsolute:
		wrong("absolute_lifetime_seconds", CodeTooLong, "the absolute lifetime must be at most 400 days")
	}
	switch {
	case p.Touch < MinTouch:
		wrong("touch_interval_seconds", CodeTooShort, "the touch interval must be at least %v", MinTouch)
	case p.Touch > p.Idle/2:
		// Written less often than that, a login in use could look idle.
		wrong("touch_interval_seconds", CodeTooLong, "the touch interval must be at most half of the idle timeout")
	}
	for _, f := range []struct {
		field string
		d     time.Duration
	}{{"idle_timeout_seconds", p.Idle}, {"absolute_lifetime_seconds", p.Absolute}, {"touch_interval_seconds", p.Touch}} {
		if f.d%time.Second != 0 {
			wrong(f.field, CodeInvalid, "%s must be whole seconds", strings.TrimSuffix(strings.ReplaceAll(f.field, "_", " "), " seconds"))
		}
	}
	all.Fields = append(all.Fields, LimitFields(p.Limits.Check())...)
	return all.OrNil()
}

// LimitFields is what is wrong with limits, as fields of the policy.
func LimitFields(wrong []limit.Wrong) []invalid.Field {
	all := make([]invalid.Field, len(wrong))
	for i, w := range wrong {
		all[i] = invalid.Field{Field: "limits." + w.Field, Code: w.Code, Message: w.Message}
	}
	return all
}

// Succeed returns next as the successor of p at that moment: the bases are
// raised to the watermarks of p, so that nothing that is over under p comes
// back, and the version is one higher.
func (p *Policy) Succeed(next Policy, now time.Time) Policy {
	next.IdleBase, next.AbsoluteBase = p.OldestSeen(now), p.OldestIssued(now)
	next.Version = p.Version + 1
	return next
}

// An Effect is what a change of policy does to the logins that live. Ends are
// those that end at once, Soon those that would end within the hour without
// another use.
type Effect struct {
	Live, Ends, Soon Estimate
}

// An Estimate is a number of logins, and how far it is off at most in 19 cases of
// 20. An Error of 0 means that the number is exact.
type Estimate struct {
	Count int64
	Error int64
}

// Drastic reports whether the change ends more than one login in twenty, by
// the larger reading of the estimates.
func (e *Effect) Drastic() bool {
	return 20*(e.Ends.Count+e.Ends.Error) > max(e.Live.Count-e.Live.Error, 0) && e.Ends.Count > 0
}
