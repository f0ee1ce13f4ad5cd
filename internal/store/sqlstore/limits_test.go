//go:build unix

package sqlstore_test

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// The limits are in the policy: replaced, listed and kept with it.
func TestLimitsAreKeptWithThePolicy(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.settings()
		first, err := s.LoadPolicy(t.Context())
		if err != nil || first.Limits != limit.Default() || first.LimitsErr != nil {
			t.Fatalf("the first: %+v, %v", first.Limits, err)
		}
		next := policy.Default()
		next.Limits.LoginPlace = [limit.MaxPlace]limit.Rule{{Count: 4, Per: time.Minute}, {Count: 40, Per: 24 * time.Hour}}
		next.Limits.Introspect = limit.Rule{Count: 7, Per: time.Second}
		got, err := s.SetPolicy(t.Context(), 1, next, audit.Event{By: shell, ID: 1, Action: audit.PolicyChanged})
		if err != nil || got.Limits != next.Limits {
			t.Fatalf("set: %+v, %v", got.Limits, err)
		}
		if got, err = s.SetPolicy(t.Context(), 2, policy.Default(), audit.Event{By: shell, ID: 2, Action: audit.PolicyChanged}); err != nil || got.Limits != limit.Default() {
			t.Fatalf("back: %+v, %v", got.Limits, err)
		}
		history, err := s.PolicyHistory(t.Context(), 0, 10)
		if err != nil || len(history) != 3 || history[1].Limits != next.Limits || history[2].Limits != limit.Default() {
			t.Errorf("history: %+v, %v", history, err)
		}
		next.Limits.Register = limit.Rule{}
		if _, err := s.SetPolicy(t.Context(), 3, next, audit.Event{By: shell, ID: 3, Action: audit.PolicyChanged}); err == nil {
			t.Error("limits that are none were kept")
		}
	})
}

// What cannot be read is no reason to do without limits, nor without the times.
func TestLimitsThatCannotBeReadAreTheDefaultOnes(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.settings()
		for _, text := range []string{"{", "{}}", `{"login_account":{"count":1000000,"period_seconds":1}}`} {
			w.exec(t, "UPDATE policies SET limits = ? WHERE version = 1", []byte(text))
			p, err := s.LoadPolicy(t.Context())
			if err != nil || p.LimitsErr == nil || p.Limits != limit.Default() || p.Idle != policy.Default().Idle {
				t.Errorf("%s: %+v, %v", text, p, err)
			}
		}
		w.exec(t, "DELETE FROM policies") // the history, by somebody who wants room
		if p, err := s.LoadPolicy(t.Context()); err != nil || p.LimitsErr != nil || p.Limits != limit.Default() {
			t.Errorf("without a history: %+v, %v", p, err)
		}
	})
}
