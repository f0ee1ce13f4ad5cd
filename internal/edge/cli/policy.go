package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/audit"
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
	Idle     *span         `help:"A login that nobody uses for this long ends, such as 14d, 1d12h, 36h or 90m." placeholder:"DURATION"`
	Absolute *span         `help:"A login this old ends, used or not." placeholder:"DURATION"`
	Touch    *span         `help:"The time of last use is written at most this often." placeholder:"DURATION"`
	Schedule *string       `help:"When rows of logins that are over are cleared: a cron expression in UTC, or @every and a duration." placeholder:"CRON"`
	Limit    []limitChange `help:"How much strangers may try, attempts and a time: login-place=5/1m,20/1h,50/1d, login-account=100/30d, login-address=120/1m, register=30/1h or introspect=1000/1s. Once for each limit." placeholder:"NAME=COUNT/TIME" sep:"none"`
	policyHow
}

// Validate is called by kong.
func (c policySet) Validate() error {
	if c.Idle == nil && c.Absolute == nil && c.Touch == nil && c.Schedule == nil && len(c.Limit) == 0 {
		return errors.New("say what to change: --idle, --absolute, --touch, --schedule or --limit")
	}
	return checkLimits(c.Limit)
}

func (c policySet) Run(a *app) error { return a.changePolicy(c.policyHow, c.change) }

func (c policySet) change(ctx context.Context, d policyPlace, inForce policy.Policy, change operator.PolicyChange) (policy.Policy, policy.Effect, error) {
	change.Next = inForce
	for _, f := range []struct {
		from *span
		to   *time.Duration
	}{{c.Idle, &change.Next.Idle}, {c.Absolute, &change.Next.Absolute}, {c.Touch, &change.Next.Touch}} {
		if f.from != nil {
			*f.to = time.Duration(*f.from)
		}
	}
	if c.Schedule != nil {
		change.Next.Schedule = *c.Schedule
	}
	changeLimits(&change.Next.Limits, c.Limit)
	if len(c.Limit) == len(limitNames) { // nothing is left of those that may not be readable
		change.Next.LimitsErr = nil
	}
	return d.Set(ctx, commandActor(), change)
}

type policyRevert struct {
	Version int64 `arg:"" help:"The version, as the history lists it."`
	policyHow
}

func (c policyRevert) Run(a *app) error { return a.changePolicy(c.policyHow, c.change) }

func (c policyRevert) change(ctx context.Context, d policyPlace, _ policy.Policy, change operator.PolicyChange) (policy.Policy, policy.Effect, error) {
	next, effect, err := d.Revert(ctx, commandActor(), c.Version, change)
	if errors.Is(err, operator.ErrNoVersion) {
		err = fmt.Errorf("there was never a policy of version %d; `%s policy history` lists all", c.Version, d.command)
	}
	return next, effect, err
}

// A policyVerb changes the policy in force, or asks what that would do.
type policyVerb func(ctx context.Context, d policyPlace, inForce policy.Policy, change operator.PolicyChange) (policy.Policy, policy.Effect, error)

// policyVerbs are those of [operator.Policies], with its errors.
type policyVerbs interface {
	Current(ctx context.Context) (policy.Policy, error)
	History(ctx context.Context, before int64, limit int) ([]policy.Policy, error)
	Set(ctx context.Context, by audit.Actor, c operator.PolicyChange) (policy.Policy, policy.Effect, error)
	Revert(ctx context.Context, by audit.Actor, version int64, c operator.PolicyChange) (policy.Policy, policy.Effect, error)
}

// A policyPlace is where the policy is changed: in the database here, or on a
// server elsewhere.
type policyPlace struct {
	policyVerbs
	command string // before policy, as a person types it
	within  string // by when every instance acts by a change
	// making opens what a change takes beside a question, while f makes it.
	making func(ctx context.Context, f func() error) error
}

// changePolicy asks what the change would do, has it confirmed if that is much,
// and makes it.
func (a *app) changePolicy(how policyHow, do policyVerb) error {
	return a.looks(func(ctx context.Context, p place) error { return a.changePolicyAt(ctx, p.policies, how, do) })
}

func (a *app) changePolicyAt(ctx context.Context, d policyPlace, how policyHow, do policyVerb) error {
	inForce, err := d.Current(ctx)
	if err != nil {
		return err
	}
	change := operator.PolicyChange{Version: inForce.Version, Note: how.Note, DryRun: true}
	next, effect, err := do(ctx, d, inForce, change)
	if err != nil {
		return policyError(d, err)
	}
	made := madePolicy{policyLine: policyLineOf(&next), Effect: effectLineOf(&effect)}
	switch {
	case sameTerms(&inForce, &next):
		made.policyLine, made.Outcome = policyLineOf(&inForce), unchanged
		return a.showChange(how.JSON, made, &inForce, d.within)
	case how.DryRun:
		made.Outcome = asked
		return a.showChange(how.JSON, made, &inForce, d.within)
	}
	change.DryRun, change.Confirmed = false, how.Yes
	if effect.Drastic() && !how.Yes {
		if err := a.confirm("This ends " + endings(&effect) + "."); err != nil {
			return err
		}
		change.Confirmed = true
	}
	return d.making(ctx, func() error {
		next, effect, err := do(ctx, d, inForce, change)
		if errors.Is(err, operator.ErrUnconfirmed) { // grown since it was asked
			err = fmt.Errorf("this ends %s. Nothing was changed; if you are sure, say --yes", endings(&effect))
		}
		if err != nil {
			return policyError(d, err)
		}
		made := madePolicy{policyLine: policyLineOf(&next), Effect: effectLineOf(&effect), Outcome: changed}
		return a.showChange(how.JSON, made, &inForce, d.within)
	})
}

func sameTerms(a, b *policy.Policy) bool {
	return a.Idle == b.Idle && a.Absolute == b.Absolute && a.Touch == b.Touch && a.Schedule == b.Schedule && a.Limits == b.Limits
}

// policyError is what went wrong, as a person reads it.
func policyError(d policyPlace, err error) error {
	if wrong, ok := errors.AsType[*policy.InvalidError](err); ok && wrong.Fields[0].Code == policy.CodeUnreadable {
		return fmt.Errorf("%s: give `%s policy set` one --limit for each of %s", wrong.Fields[0].Message, d.command, strings.Join(limitNames, ", "))
	}
	if errors.Is(err, policy.ErrVersion) {
		return fmt.Errorf("somebody else has just changed the policy; nothing was changed now. `%s policy get` shows it, try again", d.command)
	}
	return err
}
