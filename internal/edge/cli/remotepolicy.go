package cli

import (
	"context"
	"errors"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// remotePolicies are the verbs about the policy of a server, with the errors of
// those here.
type remotePolicies struct{ api *apiclient.Client }

var _ policyVerbs = remotePolicies{}

// Current is the policy in force.
func (r remotePolicies) Current(ctx context.Context) (policy.Policy, error) {
	p, err := r.api.Policy(ctx)
	return policyOf(p), err
}

// History has all versions below before, which the server pages through by itself.
func (r remotePolicies) History(ctx context.Context, before int64, _ int) (list []policy.Policy, err error) {
	for v, err := range r.api.PolicyHistory(ctx) {
		if err != nil {
			return nil, err
		}
		if before == 0 || v.Version < before {
			list = append(list, policyOf(v))
		}
	}
	return list, nil
}

// Set changes it.
func (r remotePolicies) Set(ctx context.Context, _ audit.Actor, c operator.PolicyChange) (policy.Policy, policy.Effect, error) {
	return policyChanged(r.api.SetPolicy(ctx, apiclient.PolicyChange{
		IdleTimeout: c.Next.Idle, AbsoluteLifetime: c.Next.Absolute, TouchInterval: c.Next.Touch, SweepSchedule: c.Next.Schedule,
		Limits:    clientLimits(&c.Next.Limits),
		PolicyHow: howOf(c),
	}))
}

// Revert sets an earlier version once more.
func (r remotePolicies) Revert(ctx context.Context, _ audit.Actor, version int64, c operator.PolicyChange) (policy.Policy, policy.Effect, error) {
	next, effect, err := policyChanged(r.api.RevertPolicy(ctx, version, howOf(c)))
	if p, ok := errors.AsType[*apiclient.Problem](err); ok && p.Code == apiclient.ValidationFailed {
		for _, f := range p.Errors {
			if f.Field == "version" {
				err = operator.ErrNoVersion
			}
		}
	}
	return next, effect, err
}

func howOf(c operator.PolicyChange) apiclient.PolicyHow {
	return apiclient.PolicyHow{Version: c.Version, Note: c.Note, DryRun: c.DryRun, Confirm: c.Confirmed}
}

func policyChanged(made apiclient.PolicyChanged, err error) (policy.Policy, policy.Effect, error) {
	p, _ := errors.AsType[*apiclient.Problem](err)
	switch {
	case errors.Is(err, apiclient.VersionConflict):
		err = policy.ErrVersion
	case errors.Is(err, apiclient.ConfirmationRequired) && p.Effect != nil:
		made.Effect, err = *p.Effect, operator.ErrUnconfirmed
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
