package operator_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// If the limits of a policy cannot be read, the default limits replace them. They are
// written only by a change that states limits: not by a change of times, and not by
// a return to such a version.
func TestLimitsThatCannotBeReadAreNotReplacedInSilence(t *testing.T) {
	for name, change := range map[string]func(s *policyStore, p *operator.Policies) error{
		"times, and the limits stay": func(s *policyStore, p *operator.Policies) error {
			next := s.inForce
			next.Idle, next.Limits, next.LimitsErr = time.Hour, limit.Limits{}, nil
			_, _, err := p.Set(t.Context(), by, operator.PolicyChange{Version: 1, Next: next})
			return err
		},
		"what is in force, with other times": func(s *policyStore, p *operator.Policies) error {
			next := s.inForce
			next.Idle = time.Hour
			_, _, err := p.Set(t.Context(), by, operator.PolicyChange{Version: 1, Next: next})
			return err
		},
		"a question": func(s *policyStore, p *operator.Policies) error {
			_, _, err := p.Set(t.Context(), by, operator.PolicyChange{Version: 1, Next: s.inForce, DryRun: true})
			return err
		},
		"a return to that version": func(s *policyStore, p *operator.Policies) error {
			readable := s.inForce
			readable.Version, readable.LimitsErr = 2, nil
			s.inForce, s.history = readable, append(s.history, readable)
			_, _, err := p.Revert(t.Context(), by, 1, operator.PolicyChange{Version: 2})
			return err
		},
	} {
		s, p := newPolicies()
		s.inForce.LimitsErr = errors.New("no such field")
		s.history = []policy.Policy{s.inForce}
		err := change(s, p)
		wrong, ok := errors.AsType[*invalid.Error](err)
		if !ok || len(wrong.Fields) != 1 || wrong.Fields[0].Field != "limits" || wrong.Fields[0].Code != policy.CodeUnreadable ||
			!strings.Contains(wrong.Fields[0].Message, "version 1") || s.sets != 0 {
			t.Errorf("%s: %v, set %d times", name, err, s.sets)
		}
	}

	s, p := newPolicies()
	s.inForce.LimitsErr = errors.New("no such field")
	next := s.inForce
	next.LimitsErr, next.Limits.Register.Count = nil, 7
	if _, _, err := p.Set(t.Context(), by, operator.PolicyChange{Version: 1, Next: next}); err != nil || s.sets != 1 {
		t.Fatalf("limits that the change states: %v", err)
	}
	if strings.Contains(string(s.event.Old), "limits") || !strings.Contains(string(s.event.New), "limits") {
		t.Errorf("on record: from %s to %s", s.event.Old, s.event.New)
	}
}
