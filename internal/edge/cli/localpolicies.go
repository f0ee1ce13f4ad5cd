package cli

import (
	"context"
	"iter"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// localPolicies are the verbs about the policy in this database.
type localPolicies struct{ verbs *operator.Policies }

func (p *localPolicies) Policy(ctx context.Context) (wire.Policy, error) {
	now, err := p.verbs.Current(ctx)
	return render.Policy(&now), err
}

func (p *localPolicies) PolicyHistory(ctx context.Context) iter.Seq2[wire.Policy, error] {
	return paged(func(before int64, limit int) ([]policy.Policy, error) {
		return p.verbs.History(ctx, before, limit)
	}, func(v *policy.Policy) int64 { return v.Version }, render.Policy)
}

func (p *localPolicies) SetPolicy(ctx context.Context, to client.PolicyChange) (wire.PolicyChanged, error) {
	now, err := p.verbs.Current(ctx)
	if err != nil {
		return wire.PolicyChanged{}, err
	}
	c := changeOf(to.PolicyHow)
	c.InForce, c.Next = &now, now
	c.Next.Idle, c.Next.Absolute, c.Next.Touch = time.Duration(to.IdleTimeout), time.Duration(to.AbsoluteLifetime), time.Duration(to.TouchInterval)
	c.Next.Schedule = to.SweepSchedule
	if to.MaxSessions != 0 {
		c.Next.MaxSessions = to.MaxSessions
	}
	if to.OverLimit != "" {
		c.Next.Refuse = to.OverLimit == wire.Refuse
	}
	if to.DeviceClasses != nil {
		c.Next.Classes = to.DeviceClasses
	}
	if to.Overrides != nil {
		c.Next.Overrides = policy.FromOverrides(*to.Overrides)
	}
	if to.Limits != nil {
		// If the stored limits cannot be read, the change must name all: none is guessed.
		limits, wrong := limit.FromDoc(to.Limits)
		if len(wrong) == 0 || now.LimitsErr == nil {
			c.Next.Limits, c.Next.LimitsErr = limits, nil
		}
	}
	return changed(p.verbs.Set(ctx, commandActor(), c))
}

func (p *localPolicies) RevertPolicy(ctx context.Context, to int64, how client.PolicyHow) (wire.PolicyChanged, error) {
	return changed(p.verbs.Revert(ctx, commandActor(), to, changeOf(how)))
}

func changeOf(how client.PolicyHow) operator.PolicyChange {
	return operator.PolicyChange{Version: how.Version, Note: how.Note, DryRun: how.DryRun, Confirmed: how.Confirm}
}

// changed converts a result to the document that the API returns. The effect is also set
// when a confirmation is missing.
func changed(p policy.Policy, e policy.Effect, err error) (wire.PolicyChanged, error) {
	return wire.PolicyChanged{Policy: render.Policy(&p), Effect: new(render.Effect(&e))}, err
}
