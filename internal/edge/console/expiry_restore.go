package console

import (
	"errors"

	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A restoreView asks whether going back to a version sets its limits too. The form
// holds the times alone, and a version is more than those.
type restoreView struct {
	Label   string
	Chosen  bool
	Changes []change
}

// restore is nil where the version to go back to has the limits that are in force.
func (q *request) restore(in *dialInput, inForce *policy.Policy) (*restoreView, error) {
	if in.BackTo == 0 {
		return nil, nil //nolint:nilnil // nothing to ask
	}
	old, err := q.version(in.BackTo)
	switch {
	case errors.Is(err, operator.ErrNoVersion):
		return nil, nil //nolint:nilnil // nothing to ask
	case err != nil:
		return nil, err
	}
	changes := differing(q.t.limits(inForce, &old))
	if len(changes) == 0 && inForce.LimitsErr == nil {
		return nil, nil //nolint:nilnil // nothing to ask
	}
	return &restoreView{q.t.Text("limits.restore", in.BackTo), in.WithLimits, changes}, nil
}

// version is the policy that was in force as that version. It fails with
// [operator.ErrNoVersion].
func (q *request) version(n int64) (policy.Policy, error) {
	old, err := q.u.Policies.History(q.r.Context(), n+1, 1)
	switch {
	case err != nil:
		return policy.Policy{}, err
	case len(old) == 0 || old[0].Version != n:
		return policy.Policy{}, operator.ErrNoVersion
	}
	return old[0], nil
}

// rowsOf compares what the form changes: the times, and the limits if it goes back
// to those of a version.
func (t *texts) rowsOf(in *dialInput) func(a, b *policy.Policy) []change {
	return func(a, b *policy.Policy) []change {
		if in.WithLimits {
			return append(t.terms(a, b), t.limits(a, b)...)
		}
		return t.terms(a, b)
	}
}
