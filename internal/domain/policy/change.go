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

	MostSessions  = 31 // a user, at once; a user has 32 slots, and the last one is not for logins
	MostClasses   = 16
	MostOverrides = 16
)

// Codes of what is wrong with a field.
const (
	CodeTooShort = "too_short"
	CodeTooLong  = "too_long"
	CodeInvalid  = "invalid"
	CodeTooMany  = "too_many" // overrides
	CodeCrowded  = "crowded"  // see [ErrCrowded]

	CodeUnreadable    = "unreadable"
	CodeOlderInstance = "older_instance"
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
	if p.MaxSessions < 1 || p.MaxSessions > MostSessions {
		wrong("max_sessions", CodeInvalid, "the sessions of a user must be 1 to %d", MostSessions)
	}
	for _, f := range []struct {
		field string
		d     time.Duration
	}{{"idle_timeout_seconds", p.Idle}, {"absolute_lifetime_seconds", p.Absolute}, {"touch_interval_seconds", p.Touch}} {
		if f.d%time.Second != 0 {
			wrong(f.field, CodeInvalid, "%s must be whole seconds", strings.TrimSuffix(strings.ReplaceAll(f.field, "_", " "), " seconds"))
		}
	}
	p.checkClasses(wrong)
	p.checkOverrides(all)
	all.Fields = append(all.Fields, LimitFields(p.Limits.Check())...)
	return all.OrNil()
}

// NeedsFurther reports whether p needs instances that know several sessions a user, and overrides.
func (p *Policy) NeedsFurther() bool {
	return p.MaxSessions > 1 || p.Refuse || len(p.Overrides) > 0 || p.Scopes != nil
}

// An OlderInstanceError means that no policy may allow a second session a user yet, or have
// overrides, or that nobody may act for a user: that instance would refuse tokens that live, or
// accept some that do not.
type OlderInstanceError struct{ Name, Version string }

// Error names the instance.
func (e *OlderInstanceError) Error() string {
	return fmt.Sprintf("instance %s runs version %s, which does not know this; upgrade it first", e.Name, e.Version)
}

// Invalid is what is wrong with next, which that instance does not know.
func (e *OlderInstanceError) Invalid(next *Policy) *invalid.Error {
	field := "overrides"
	switch {
	case next.MaxSessions > 1:
		field = "max_sessions"
	case next.Refuse && len(next.Overrides) == 0:
		field = "over_limit"
	}
	return &invalid.Error{Sentences: true, Fields: []invalid.Field{{Field: field, Code: CodeOlderInstance, Message: e.Error(), Name: e.Name}}}
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
	e := p.base()
	next.IdleBase, next.AbsoluteBase = e.OldestSeen(now), e.OldestIssued(now)
	next.Scopes = next.scopes(p, now)
	next.Version = p.Version + 1
	next.Further = p.Further || next.NeedsFurther()
	if next.LoweredIn, next.LoweredAt = p.LoweredIn, p.LoweredAt; p.Lowers(&next) {
		next.LoweredIn, next.LoweredAt = next.Version, now
	}
	return next
}

// An Effect is what a change of policy does to the logins that live. Ends are
// those that end at once, Soon those that would end within the hour without
// another use. Beyond are those of Ends that a lower number of sessions a user ends, if
// Lowers, and BeyondUsers is how many users have them.
type Effect struct {
	Live, Ends, Soon    Estimate
	Beyond, BeyondUsers Estimate
	Lowers              bool
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
