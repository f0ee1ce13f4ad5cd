package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

type policyCommand struct {
	Get     policyGet     `cmd:"" help:"Show how long logins last, and how much strangers may try."`
	Set     policySet     `cmd:"" help:"Change how long logins last, or how much strangers may try. Only what is named changes."`
	History policyHistory `cmd:"" help:"List every policy that was ever in force, the newest first."`
	Revert  policyRevert  `cmd:"" help:"Set an earlier version of the policy once more."`
}

// policyHow is how a change is made, whichever it is.
type policyHow struct {
	Note   string `help:"Why. One line, kept in the history and in the record." placeholder:"TEXT"`
	DryRun bool   `help:"Only say what it would do."`
	Yes    bool   `help:"Do not ask, although more than one login in twenty ends."`
	JSON   bool   `help:"Print JSON."`
}

type policySet struct {
	Idle      *span          `help:"A login that is not used for this long ends, such as 14d, 1d12h, 36h or 90m." placeholder:"DURATION"`
	Absolute  *span          `help:"A login this old ends, used or not." placeholder:"DURATION"`
	Touch     *span          `help:"The time of last use is written at most this often." placeholder:"DURATION"`
	Schedule  *string        `help:"When rows of logins that are over are cleared: a cron expression in UTC, or @every and a duration." placeholder:"CRON"`
	Sessions  *int           `name:"max-sessions" help:"How many sessions a user has at once, 1 to 31. One more login ends the session that was least recently used." placeholder:"NUMBER"`
	OverLimit string         `name:"over-limit" help:"What a login above the number of sessions does: replace_oldest or refuse." placeholder:"WHAT"`
	Classes   []string       `name:"device-classes" help:"The classes of devices that an app may name at a login, with commas between them; one is other." placeholder:"CLASSES"`
	Override  []overrideText `help:"What differs by device class or role: class:phone=idle:90d,absolute:180d,touch:5m,sessions:1 or role:admin=absolute:12h; class:phone=none takes it away. Once for each." placeholder:"SCOPE=TIMES" sep:"none"`
	Limit     []limitChange  `help:"How much strangers may try, attempts and a time: login-place=5/1m,20/1h,50/1d, login-account=100/30d, login-address=120/1m, register=30/1h or introspect=1000/1s. Once for each limit." placeholder:"NAME=COUNT/TIME" sep:"none"`
	policyHow
}

func (c policySet) Validate() error {
	if c.Idle == nil && c.Absolute == nil && c.Touch == nil && c.Schedule == nil && c.Sessions == nil && c.OverLimit == "" &&
		len(c.Classes) == 0 && len(c.Override) == 0 && len(c.Limit) == 0 {
		return errors.New("say what to change: --idle, --absolute, --touch, --schedule, --max-sessions, --over-limit, --device-classes, --override or --limit")
	}
	if c.OverLimit != "" && c.OverLimit != wire.ReplaceOldest && c.OverLimit != wire.Refuse {
		return fmt.Errorf("--over-limit must be %s or %s", wire.ReplaceOldest, wire.Refuse)
	}
	if c.Sessions != nil && (*c.Sessions < 1 || *c.Sessions > policy.MostSessions) {
		return fmt.Errorf("--max-sessions must be 1 to %d", policy.MostSessions)
	}
	return checkLimits(c.Limit)
}

func (c policySet) Run(a *app) error { return a.changePolicy(c.policyHow, c.change) }

func (c policySet) change(ctx context.Context, b backend, inForce *wire.Policy, how client.PolicyHow) (wire.PolicyChanged, error) {
	to := client.PolicyChange{
		IdleTimeout: inForce.IdleTimeout, AbsoluteLifetime: inForce.AbsoluteLifetime, TouchInterval: inForce.TouchInterval, SweepSchedule: inForce.SweepSchedule,
		PolicyHow: how,
	}
	for _, f := range []struct {
		from *span
		to   *wire.Seconds
	}{{c.Idle, &to.IdleTimeout}, {c.Absolute, &to.AbsoluteLifetime}, {c.Touch, &to.TouchInterval}} {
		if f.from != nil {
			*f.to = wire.Seconds(*f.from)
		}
	}
	if c.Schedule != nil {
		to.SweepSchedule = *c.Schedule
	}
	if c.Sessions != nil {
		to.MaxSessions = *c.Sessions
	}
	to.OverLimit, to.DeviceClasses = c.OverLimit, c.Classes
	if len(c.Override) > 0 {
		now := policy.Policy{Overrides: policy.FromOverrides(inForce.Overrides)}
		now.Overrides = now.With(overridesOf(c.Override))
		to.Overrides = new(now.OverridesDoc())
	}
	if len(c.Limit) > 0 {
		var limits limit.Limits // of those that cannot be read nothing is guessed: all are needed then
		if inForce.Limits != nil {
			limits = limitsIn(inForce)
		}
		changeLimits(&limits, c.Limit)
		to.Limits = limits.Doc()
	}
	return b.policies.SetPolicy(ctx, to)
}

type policyRevert struct {
	Version int64 `arg:"" help:"The version, as the history lists it."`
	policyHow
}

func (c policyRevert) Run(a *app) error { return a.changePolicy(c.policyHow, c.change) }

func (c policyRevert) change(ctx context.Context, b backend, _ *wire.Policy, how client.PolicyHow) (wire.PolicyChanged, error) {
	made, err := b.policies.RevertPolicy(ctx, c.Version, how)
	p, _ := errors.AsType[*client.Problem](err)
	if errors.Is(err, operator.ErrNoVersion) || p != nil && slices.ContainsFunc(p.Errors, func(f wire.FieldError) bool { return f.Field == "version" }) {
		err = fmt.Errorf("there was never a policy of version %d; `%s policy history` lists all", c.Version, b.command)
	}
	return made, err
}

// A policyVerb changes the policy in force, or asks what that would do.
type policyVerb func(ctx context.Context, b backend, inForce *wire.Policy, how client.PolicyHow) (wire.PolicyChanged, error)

// changePolicy asks what the change would do, has it confirmed if that is much,
// and makes it.
func (a *app) changePolicy(how policyHow, do policyVerb) error {
	return a.looks(func(ctx context.Context, b backend) error { return a.changePolicyAt(ctx, b, how, do) })
}

func (a *app) changePolicyAt(ctx context.Context, b backend, how policyHow, do policyVerb) error {
	inForce, err := b.policies.Policy(ctx)
	if err != nil {
		return err
	}
	ask := client.PolicyHow{Version: inForce.Version, Note: how.Note, DryRun: true}
	next, err := do(ctx, b, &inForce, ask)
	if err != nil {
		return policyError(b, err)
	}
	made := madePolicy{next.Policy, asked, next.Effect}
	switch {
	case sameTerms(&inForce, &next.Policy):
		made.Policy, made.Outcome = inForce, unchanged
		return a.showChange(how.JSON, made, &inForce, b.within)
	case how.DryRun:
		return a.showChange(how.JSON, made, &inForce, b.within)
	}
	set := ask
	set.DryRun, set.Confirm = false, how.Yes
	if drastic(next.Effect) && !how.Yes {
		if err := a.confirm("This ends " + endings(next.Effect) + "."); err != nil {
			return err
		}
		set.Confirm = true
	}
	return b.changing(ctx, func() error {
		next, err := do(ctx, b, &inForce, set)
		if either(err, operator.ErrUnconfirmed, client.ConfirmationRequired) { // grown since it was asked
			if p, ok := errors.AsType[*client.Problem](err); ok {
				next.Effect = p.Effect
			}
			if next.Effect != nil { // a proxy may have taken it away
				err = fmt.Errorf("this ends %s. Nothing was changed; if you are sure, say --yes", endings(next.Effect))
			}
		}
		if err != nil {
			return policyError(b, err)
		}
		return a.showChange(how.JSON, madePolicy{next.Policy, done, next.Effect}, &inForce, b.within)
	})
}

// drastic reports whether the change ends many logins.
func drastic(e *wire.Effect) bool {
	return (&policy.Effect{Live: policy.Estimate(e.Live), Ends: policy.Estimate(e.EndsNow)}).Drastic()
}

func sameTerms(a, b *wire.Policy) bool {
	return a.IdleTimeout == b.IdleTimeout && a.AbsoluteLifetime == b.AbsoluteLifetime && a.TouchInterval == b.TouchInterval && a.SweepSchedule == b.SweepSchedule && a.MaxSessions == b.MaxSessions &&
		a.OverLimit == b.OverLimit && slices.Equal(a.DeviceClasses, b.DeviceClasses) && slices.Equal(a.Overrides, b.Overrides) && reflect.DeepEqual(a.Limits, b.Limits)
}

// policyError is what went wrong, as a person reads it.
func policyError(b backend, err error) error {
	if wrong, ok := errors.AsType[*invalid.Error](err); ok && wrong.Fields[0].Code == policy.CodeUnreadable {
		return fmt.Errorf("%s: give `%s policy set` one --limit for each of %s", wrong.Fields[0].Message, b.command, strings.Join(limitNames, ", "))
	}
	if either(err, policy.ErrVersion, client.VersionConflict) {
		return fmt.Errorf("the policy was changed meanwhile; nothing was changed now. `%s policy get` shows it, try again", b.command)
	}
	return err
}
