package verb

import (
	"context"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// Policies look at the policy and change it. *operator.Policies has them.
type Policies interface {
	Current(ctx context.Context) (policy.Policy, error)
	History(ctx context.Context, before int64, limit int) ([]policy.Policy, error)
	Set(ctx context.Context, by audit.Actor, c operator.PolicyChange) (policy.Policy, policy.Effect, error)
	Revert(ctx context.Context, by audit.Actor, version int64, c operator.PolicyChange) (policy.Policy, policy.Effect, error)
}

// Events are the record of what was done, newest first.
type Events interface {
	List(ctx context.Context, f audit.Filter) ([]audit.Event, error)
}

// Instances are the last reports of the instances that run: at most limit, those that came
// last, newest first.
type Instances interface {
	List(ctx context.Context, limit int) ([]fleet.Seen, error)
}

// FactorStates returns what people see of their own second factors. *secondfactor.Service
// is one.
type FactorStates interface {
	State(ctx context.Context, user idworker.ID) (secondfactor.State, error)
}
