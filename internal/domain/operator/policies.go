package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// ErrUnconfirmed means that a change ends more than one login in twenty, and
// that it was not confirmed.
var ErrUnconfirmed = errors.New("this change ends more than 5 % of all logins, and was not confirmed")

// ErrNoVersion means that there was never a policy of that version.
var ErrNoVersion = errors.New("no policy of that version")

// A PolicyStore keeps the policy in force, and every one before it.
//
// SetPolicy replaces the policy of that version, or returns
// [policy.ErrVersion]. Effect says what a replacement would do to the logins
// that live. PolicyHistory returns at most limit policies of versions below
// before (0: the newest), newest first.
type PolicyStore interface {
	LoadPolicy(ctx context.Context) (policy.Policy, error)
	SetPolicy(ctx context.Context, version int64, next policy.Policy, e audit.Event) (policy.Policy, error)
	PolicyHistory(ctx context.Context, before int64, limit int) ([]policy.Policy, error)
	Effect(ctx context.Context, inForce, next policy.Policy, now time.Time) (policy.Effect, error)
}

// Policies are the verbs about the policy. Set the fields once, before use.
type Policies struct {
	Store PolicyStore
	IDs   audit.IDs
	Now   func() time.Time
	// Schedule checks the schedule of the sweep.
	Schedule func(spec string) error
	// Here, if set, is the policy as this instance has it, which acts by a change at
	// once.
	Here interface{ Apply(p policy.Policy) }
	Log  *slog.Logger // nil logs nothing
}

// A PolicyChange asks for another policy. Only the times, the schedule, what is about the
// sessions of a user and the limits of Next count; limits and sessions that are zero stay as they are. A
// change to limits that could not be read is refused, for they are the default ones:
// a caller that gives Next limits of its own clears its LimitsErr.
type PolicyChange struct {
	Version int64 // of the policy that it replaces
	// InForce is the policy as the caller has just read it; nil is not read yet. The
	// store compares its version when it writes.
	InForce *policy.Policy
	Next    policy.Policy
	Note    string
	// DryRun asks what it would do, and nothing else.
	DryRun bool
	// Confirmed says that it may end more than one login in twenty.
	Confirmed bool
}

// Current is the policy in force, as the store has it.
func (p *Policies) Current(ctx context.Context) (policy.Policy, error) {
	return p.Store.LoadPolicy(ctx)
}

// History returns at most limit policies of versions below before (0: the
// newest), newest first.
func (p *Policies) History(ctx context.Context, before int64, limit int) ([]policy.Policy, error) {
	return p.Store.PolicyHistory(ctx, before, limit)
}

// Set replaces the policy in force, and returns the new one and its effect on the
// logins that live. It fails with an [*invalid.Error], with [policy.ErrVersion], or with
// [ErrUnconfirmed], beside the effect. A dry run returns the policy as it would be.
func (p *Policies) Set(ctx context.Context, by audit.Actor, c PolicyChange) (policy.Policy, policy.Effect, error) {
	now := p.Now()
	var old policy.Policy
	var err error
	if c.InForce != nil {
		old = *c.InForce
	} else if old, err = p.Store.LoadPolicy(ctx); err != nil {
		return policy.Policy{}, policy.Effect{}, fmt.Errorf("operator: set policy: %w", err)
	}
	if c.Next.Limits == (limit.Limits{}) {
		c.Next.Limits, c.Next.LimitsErr, c.Next.Version = old.Limits, old.LimitsErr, old.Version
	}
	c.Next.MaxSessions = cmp.Or(c.Next.MaxSessions, old.MaxSessions)
	if err := p.check(&c); err != nil {
		return policy.Policy{}, policy.Effect{}, err
	}
	if old.Version != c.Version {
		return policy.Policy{}, policy.Effect{}, policy.ErrVersion
	}
	effect, err := p.Store.Effect(ctx, old, c.Next, now)
	if older, ok := errors.AsType[*policy.OlderInstanceError](err); ok {
		return policy.Policy{}, policy.Effect{}, older.Invalid(&c.Next)
	}
	if err != nil {
		return policy.Policy{}, policy.Effect{}, fmt.Errorf("operator: set policy: %w", err)
	}
	next := old.Succeed(c.Next, now)
	if _, err := next.EncodeTerms(); errors.Is(err, policy.ErrCrowded) {
		return policy.Policy{}, policy.Effect{}, invalid.Of("overrides", policy.CodeCrowded, err.Error())
	}
	next.UpdatedAt, next.UpdatedBy, next.Note = now, by.Name, c.Note
	switch {
	case c.DryRun:
		return next, effect, nil
	case effect.Drastic() && !c.Confirmed:
		return next, effect, ErrUnconfirmed
	}
	event, err := audit.New(ctx, p.IDs, by, needs[setPolicy], audit.PolicyChanged, audit.Target{Kind: "policy", Name: "global"}, c.Note, terms(&old), terms(&next))
	if err != nil {
		return policy.Policy{}, effect, err
	}
	done, err := p.Store.SetPolicy(ctx, c.Version, next, event)
	if err != nil {
		return policy.Policy{}, effect, fmt.Errorf("operator: set policy: %w", err)
	}
	if p.Here != nil {
		p.Here.Apply(done)
	}
	logAct(ctx, p.Log, by, nil, "policy set", "version", done.Version)
	return done, effect, nil
}

// Revert puts the policy of an earlier version in force again, as a new version and by
// the same rules.
func (p *Policies) Revert(ctx context.Context, by audit.Actor, version int64, c PolicyChange) (policy.Policy, policy.Effect, error) {
	old, err := p.Store.PolicyHistory(ctx, version+1, 1)
	if err != nil {
		return policy.Policy{}, policy.Effect{}, fmt.Errorf("operator: revert policy: %w", err)
	}
	if len(old) == 0 || old[0].Version != version {
		return policy.Policy{}, policy.Effect{}, ErrNoVersion
	}
	c.Next = old[0]
	return p.Set(ctx, by, c)
}

// check says everything that is wrong with a change, at once.
func (p *Policies) check(c *PolicyChange) error {
	all, ok := errors.AsType[*invalid.Error](c.Next.Check())
	if !ok {
		all = &invalid.Error{Sentences: true}
	}
	if err := p.Schedule(c.Next.Schedule); err != nil {
		all.Add("sweep_schedule", policy.CodeInvalid, scheduleRule)
	}
	if c.Next.LimitsErr != nil {
		all.Add("limits", policy.CodeUnreadable, fmt.Sprintf("the limits of version %d cannot be read; set a policy that says all limits", c.Next.Version))
	}
	// The store would cut a long note, and keep control characters for terminals.
	switch {
	case utf8.RuneCountInString(c.Note) > audit.MaxReason:
		all.Add("note", policy.CodeTooLong, fmt.Sprintf("the note must have at most %d characters", audit.MaxReason))
	case !utf8.ValidString(c.Note) || strings.ContainsFunc(c.Note, unicode.IsControl):
		all.Add("note", policy.CodeInvalid, "the note must be one line of UTF-8, without control characters")
	}
	return all.OrNil()
}

// scheduleRule does not repeat what was sent, as what is wrong with it would.
const scheduleRule = "the sweep schedule must be a cron expression of five fields in UTC, @hourly, @daily or the like, or @every " +
	"with a duration of at least 1s; at most 128 characters, and one that comes at some time"

// policyTerms is a policy as the record has it.
type policyTerms struct {
	Version  int64        `json:"version"`
	Idle     wire.Seconds `json:"idle_timeout_seconds"`
	Absolute wire.Seconds `json:"absolute_lifetime_seconds"`
	Touch    wire.Seconds `json:"touch_interval_seconds"`
	Schedule string       `json:"sweep_schedule"`
	Sessions int          `json:"max_sessions"`
	Limits   *wire.Limits `json:"limits,omitempty"` // nil for those that cannot be read

	OverLimit string          `json:"over_limit,omitempty"` // if it is not to replace
	Classes   []string        `json:"device_classes,omitempty"`
	Overrides []wire.Override `json:"overrides,omitempty"`
}

func terms(p *policy.Policy) policyTerms {
	t := policyTerms{Version: p.Version, Idle: wire.Seconds(p.Idle), Absolute: wire.Seconds(p.Absolute), Touch: wire.Seconds(p.Touch), Schedule: p.Schedule, Sessions: p.MaxSessions,
		Classes: p.Classes, Overrides: p.OverridesDoc()}
	if p.Refuse {
		t.OverLimit = wire.Refuse
	}
	if p.LimitsErr == nil {
		t.Limits = p.Limits.Doc()
	}
	return t
}
