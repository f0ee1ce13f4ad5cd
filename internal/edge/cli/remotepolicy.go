package cli

import (
	"context"
	"errors"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/internal/domain/admin"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

type remotePolicy struct {
	Get     remotePolicyGet     `cmd:"" help:"Show how long logins last, and how much strangers may try."`
	Set     remotePolicySet     `cmd:"" help:"Change how long logins last, or how much strangers may try. Only what is named changes."`
	History remotePolicyHistory `cmd:"" help:"List every policy that was ever in force, the newest first."`
	Revert  remotePolicyRevert  `cmd:"" help:"Set an earlier version of the policy once more."`
}

type remotePolicyGet struct{ policyGet }

func (c remotePolicyGet) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		p, err := remotePolicies{s.Client}.Current(ctx)
		if err != nil {
			return err
		}
		return c.show(a.out, policyLineOf(&p))
	})
}

type remotePolicyHistory struct{ policyHistory }

func (c remotePolicyHistory) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		lines := []policyLine{}
		for v, err := range s.PolicyHistory(ctx) {
			if err != nil {
				return err
			}
			p := policyOf(v)
			lines = append(lines, policyLineOf(&p))
		}
		return c.show(a.out, lines)
	})
}

type remotePolicySet struct{ policySet }

func (c remotePolicySet) Run(a *app) error { return a.changePolicyThere(c.policyHow, c.change) }

type remotePolicyRevert struct{ policyRevert }

func (c remotePolicyRevert) Run(a *app) error { return a.changePolicyThere(c.policyHow, c.change) }

// changePolicyThere changes it on a server, in the same steps as here.
func (a *app) changePolicyThere(how policyHow, do policyVerb) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		return a.changePolicy(ctx, how, do, policyDoor{
			remotePolicies{s.Client}, "flakepass remote", "within the revocation bound of the server",
			func(_ context.Context, f func() error) error { return f() },
		})
	})
}

// remotePolicies are the verbs about the policy of a server, with the errors of
// those here.
type remotePolicies struct{ api *apiclient.Client }

var _ policyVerbs = remotePolicies{}

// Current is the policy in force.
func (r remotePolicies) Current(ctx context.Context) (policy.Policy, error) {
	p, err := r.api.Policy(ctx)
	return policyOf(p), err
}

// Set changes it.
func (r remotePolicies) Set(ctx context.Context, _ audit.Actor, c admin.PolicyChange) (policy.Policy, policy.Effect, error) {
	return policyChanged(r.api.SetPolicy(ctx, apiclient.PolicyChange{
		IdleTimeout: c.Next.Idle, AbsoluteLifetime: c.Next.Absolute, TouchInterval: c.Next.Touch, SweepSchedule: c.Next.Schedule,
		Limits:    clientLimits(&c.Next.Limits),
		PolicyHow: howOf(c),
	}))
}

// Revert sets an earlier version once more.
func (r remotePolicies) Revert(ctx context.Context, _ audit.Actor, version int64, c admin.PolicyChange) (policy.Policy, policy.Effect, error) {
	next, effect, err := policyChanged(r.api.RevertPolicy(ctx, version, howOf(c)))
	if p, ok := errors.AsType[*apiclient.Problem](err); ok && p.Code == apiclient.ValidationFailed {
		for _, f := range p.Errors {
			if f.Field == "version" {
				err = admin.ErrNoVersion
			}
		}
	}
	return next, effect, err
}

func howOf(c admin.PolicyChange) apiclient.PolicyHow {
	return apiclient.PolicyHow{Version: c.Version, Note: c.Note, DryRun: c.DryRun, Confirm: c.Confirmed}
}

func policyChanged(made apiclient.PolicyChanged, err error) (policy.Policy, policy.Effect, error) {
	p, _ := errors.AsType[*apiclient.Problem](err)
	switch {
	case errors.Is(err, apiclient.VersionConflict):
		err = policy.ErrVersion
	case errors.Is(err, apiclient.ConfirmationRequired) && p.Effect != nil:
		made.Effect, err = *p.Effect, admin.ErrUnconfirmed
	}
	e := made.Effect
	return policyOf(made.Policy), policy.Effect{
		Live: policy.Estimate(e.Live), Ends: policy.Estimate(e.EndsNow), Soon: policy.Estimate(e.EndsWithinAHour),
	}, err
}

func policyOf(p apiclient.Policy) policy.Policy {
	return policy.Policy{
		Idle: p.IdleTimeout, Absolute: p.AbsoluteLifetime, Touch: p.TouchInterval, Schedule: p.SweepSchedule, Limits: backLimits(&p.Limits),
		Version: p.Version, UpdatedAt: p.UpdatedAt, UpdatedBy: p.UpdatedBy, Note: p.Note,
	}
}
