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

func (l *local) Policy(ctx context.Context) (wire.Policy, error) {
	now, err := l.policies.Current(ctx)
	return render.Policy(&now), err
}

func (l *local) PolicyHistory(ctx context.Context) iter.Seq2[wire.Policy, error] {
	return paged(func(before int64, limit int) ([]policy.Policy, error) {
		return l.policies.History(ctx, before, limit)
	}, func(v *policy.Policy) int64 { return v.Version }, render.Policy)
}

func (l *local) SetPolicy(ctx context.Context, to client.PolicyChange) (wire.PolicyChanged, error) {
	now, err := l.policies.Current(ctx)
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
	return changed(l.policies.Set(ctx, commandActor(), c))
}

func (l *local) RevertPolicy(ctx context.Context, to int64, how client.PolicyHow) (wire.PolicyChanged, error) {
	return changed(l.policies.Revert(ctx, commandActor(), to, changeOf(how)))
}

func changeOf(how client.PolicyHow) operator.PolicyChange {
	return operator.PolicyChange{Version: how.Version, Note: how.Note, DryRun: how.DryRun, Confirmed: how.Confirm}
}

// changed converts a result to the document that the API returns. The effect is also set
// when a confirmation is missing.
func changed(p policy.Policy, e policy.Effect, err error) (wire.PolicyChanged, error) {
	return wire.PolicyChanged{Policy: render.Policy(&p), Effect: new(render.Effect(&e))}, err
}
