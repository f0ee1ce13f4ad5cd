package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

type applier func(policy.Policy)

func (a applier) Apply(p policy.Policy) { a(p) }

func TestPolicyIsSetWithItsEvent(t *testing.T) {
	s, p := newPolicies()
	changed := 0
	p.Here = applier(func(p policy.Policy) { changed += int(p.Version) - 1 })
	next := s.inForce
	next.Idle = time.Hour
	ada := audit.Actor{ID: 7, Name: "ada", Via: audit.ViaAPI, RequestID: "r1"}
	got, effect, err := p.Set(t.Context(), ada, operator.PolicyChange{Version: 1, Next: next, Note: "too many idle"})
	if err != nil || got.Version != 2 || got.Idle != time.Hour || effect != s.effect || changed != 1 {
		t.Fatalf("Set: %+v, %+v, %v, notified %d times", got, effect, err, changed)
	}
	if s.inForce.UpdatedBy != "ada" || s.inForce.Note != "too many idle" {
		t.Errorf("in force: %+v", s.inForce)
	}
	e := s.event
	var before, after map[string]any
	if json.Unmarshal(e.Old, &before) != nil || json.Unmarshal(e.New, &after) != nil {
		t.Fatalf("event %+v", e)
	}
	if e.ID == 0 || e.Action != audit.PolicyChanged || e.By.ID != 7 || e.By.RequestID != "r1" || e.Reason != "too many idle" ||
		before["idle_timeout_seconds"] != 14.*24*3600 || after["idle_timeout_seconds"] != 3600. || after["version"] != 2. {
		t.Errorf("event %+v, %v to %v", e, before, after)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	s, p := newPolicies()
	s.effect = policy.Effect{Live: policy.Estimate{Count: 10}, Ends: policy.Estimate{Count: 10}}
	next := s.inForce
	next.Idle = time.Hour
	got, effect, err := p.Set(t.Context(), by, operator.PolicyChange{Version: 1, Next: next, DryRun: true})
	if err != nil || got.Version != 2 || got.Idle != time.Hour || effect != s.effect {
		t.Errorf("dry run: %+v, %+v, %v", got, effect, err)
	}
	if s.sets != 0 || s.inForce.Version != 1 {
		t.Error("a dry run has changed the policy")
	}
}

func TestDrasticChangeHasToBeConfirmed(t *testing.T) {
	for _, c := range []struct {
		live, ends, off int64
		drastic         bool
	}{
		{100, 5, 0, false}, {100, 6, 0, true}, {0, 0, 0, false}, {1, 1, 0, true}, {100, 0, 50, false},
		{1000, 45, 6, true}, {1000, 45, 5, false}, {1_000_000, 50_000, 0, false}, {1_000_000, 50_001, 0, true},
	} {
		s, p := newPolicies()
		s.effect = policy.Effect{Live: policy.Estimate{Count: c.live}, Ends: policy.Estimate{Count: c.ends, Error: c.off}}
		change := operator.PolicyChange{Version: 1, Next: s.inForce}
		_, effect, err := p.Set(t.Context(), by, change)
		if errors.Is(err, operator.ErrUnconfirmed) != c.drastic || (s.sets == 0) != c.drastic {
			t.Errorf("%+v: %v, set %d times", c, err, s.sets)
		}
		if effect != s.effect {
			t.Errorf("%+v: effect %+v is not returned", c, effect)
		}
		if change.Confirmed = true; c.drastic {
			if _, _, err := p.Set(t.Context(), by, change); err != nil || s.sets != 1 {
				t.Errorf("%+v: confirmed: %v", c, err)
			}
		}
	}
}

func TestEverythingThatIsWrongIsSaidAtOnce(t *testing.T) {
	s, p := newPolicies()
	_, _, err := p.Set(t.Context(), by, operator.PolicyChange{Version: 1, Next: policy.Policy{
		Idle: time.Minute, Absolute: 401 * 24 * time.Hour, Touch: time.Millisecond, Schedule: "bad",
	}})
	wrong, ok := errors.AsType[*invalid.Error](err)
	if !ok || s.sets != 0 {
		t.Fatalf("Set: %v", err)
	}
	fields := map[string]bool{}
	for _, f := range wrong.Fields {
		fields[f.Field] = true
		if f.Code == "" || f.Message == "" {
			t.Errorf("%+v says nothing", f)
		}
	}
	for _, want := range []string{"idle_timeout_seconds", "absolute_lifetime_seconds", "touch_interval_seconds", "sweep_schedule"} {
		if !fields[want] {
			t.Errorf("nothing is said about %s: %v", want, err)
		}
	}
}

func TestNoteIsALineThatFits(t *testing.T) {
	for note, code := range map[string]string{
		"": "", "lost phones, 失物": "", strings.Repeat("é", 1000): "", strings.Repeat("é", 1001): policy.CodeTooLong,
		"a\nb": policy.CodeInvalid, "a\x1b[2J": policy.CodeInvalid, "a\x00": policy.CodeInvalid, "\xff": policy.CodeInvalid,
	} {
		s, p := newPolicies()
		_, _, err := p.Set(t.Context(), by, operator.PolicyChange{Version: 1, Next: s.inForce, Note: note})
		wrong, ok := errors.AsType[*invalid.Error](err)
		if (code != "") != ok || ok && (len(wrong.Fields) != 1 || wrong.Fields[0].Field != "note" || wrong.Fields[0].Code != code) || (s.sets == 1) != (code == "") {
			t.Errorf("%.20q: %v, set %d times", note, err, s.sets)
		}
	}
}

func TestChangeOfAnotherVersionIsRefused(t *testing.T) {
	s, p := newPolicies()
	for _, version := range []int64{0, 2} {
		if _, _, err := p.Set(t.Context(), by, operator.PolicyChange{Version: version, Next: s.inForce}); !errors.Is(err, policy.ErrVersion) || s.sets != 0 {
			t.Errorf("version %d: %v", version, err)
		}
	}
	s.stale = true // changed between the look and the write
	if _, _, err := p.Set(t.Context(), by, operator.PolicyChange{Version: 1, Next: s.inForce}); !errors.Is(err, policy.ErrVersion) {
		t.Errorf("changed meanwhile: %v", err)
	}
}

func TestRevertIsANewVersionOfAnOldPolicy(t *testing.T) {
	s, p := newPolicies()
	next := s.inForce
	next.Idle = time.Hour
	if _, _, err := p.Set(t.Context(), by, operator.PolicyChange{Version: 1, Next: next}); err != nil {
		t.Fatal(err)
	}
	got, _, err := p.Revert(t.Context(), by, 1, operator.PolicyChange{Version: 2, Note: "back"})
	if err != nil || got.Version != 3 || got.Idle != policy.Default().Idle || s.inForce.Note != "back" {
		t.Errorf("Revert: %+v, %v", got, err)
	}
	for _, version := range []int64{0, 9} {
		if _, _, err := p.Revert(t.Context(), by, version, operator.PolicyChange{Version: 3}); !errors.Is(err, operator.ErrNoVersion) {
			t.Errorf("version %d, which never was: %v", version, err)
		}
	}
}

func newPolicies() (*policyStore, *operator.Policies) {
	s := &policyStore{inForce: policy.Default(), effect: policy.Effect{Live: policy.Estimate{Count: 1000}, Ends: policy.Estimate{Count: 3}}}
	s.history = []policy.Policy{s.inForce}
	return s, &operator.Policies{Store: s, IDs: s, Now: func() time.Time { return now }, Schedule: func(spec string) error {
		if spec == "bad" {
			return errors.New("never comes")
		}
		return nil
	}}
}

// A policyStore keeps policies in memory.
type policyStore struct {
	inForce policy.Policy
	history []policy.Policy
	effect  policy.Effect
	event   audit.Event
	sets    int
	stale   bool
	last    idworker.ID
}

func (s *policyStore) LoadPolicy(context.Context) (policy.Policy, error) { return s.inForce, nil }

func (s *policyStore) SetPolicy(_ context.Context, version int64, next policy.Policy, e audit.Event) (policy.Policy, error) {
	if s.stale || version != s.inForce.Version {
		return policy.Policy{}, policy.ErrVersion
	}
	s.sets++
	s.inForce, s.event = next, e
	s.history = append(s.history, next)
	return next, nil
}

func (s *policyStore) PolicyHistory(_ context.Context, before int64, limit int) (found []policy.Policy, err error) {
	for i := len(s.history) - 1; i >= 0 && len(found) < limit; i-- {
		if before == 0 || s.history[i].Version < before {
			found = append(found, s.history[i])
		}
	}
	return found, nil
}

func (s *policyStore) Effect(context.Context, policy.Policy, policy.Policy, time.Time) (policy.Effect, error) {
	return s.effect, nil
}

func (s *policyStore) Next(context.Context) (idworker.ID, error) { s.last++; return s.last, nil }
