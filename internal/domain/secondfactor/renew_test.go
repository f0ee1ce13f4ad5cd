package secondfactor_test

import (
	"errors"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

func (w *world) state() secondfactor.State {
	w.t.Helper()
	s, err := w.State(w.t.Context(), w.user.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// A renewal leaves no earlier code, and works without the key.
func TestRenewedCodesTakeThePlaceOfAll(t *testing.T) {
	w, _, old := enrolled(t)
	if err := w.check(secondfactor.NewCode(old[0].Reveal())); err != nil {
		t.Fatal(err)
	}
	if s := w.state(); s != (secondfactor.State{Enrolled: true, Left: 9}) {
		t.Errorf("before: %+v", s)
	}
	w.Keys = secondfactor.Keys{}
	fresh, err := w.Renew(t.Context(), by, &w.user)
	if err != nil || len(fresh) != secondfactor.RecoveryCodes || w.state().Left != secondfactor.RecoveryCodes {
		t.Fatalf("Renew = %d codes, %v, %d left", len(fresh), err, w.state().Left)
	}
	w.Keys = keys(t, 'a')
	for i, c := range old {
		if err := w.check(secondfactor.NewCode(c.Reveal())); !errors.Is(err, secondfactor.ErrInvalid) {
			t.Errorf("code %d of before: %v", i, err)
		}
	}
	for i, c := range fresh {
		if err := w.check(secondfactor.NewCode(c.Reveal())); err != nil {
			t.Errorf("new code %d: %v", i, err)
		}
	}
	if w.kept.events[2] != audit.RecoveryCodesRenewed {
		t.Errorf("on record: %v", w.kept.events)
	}
}

func TestRenewalComparesThePassword(t *testing.T) {
	w, _, old := enrolled(t)
	w.kept.version = 4
	if codes, err := w.Renew(t.Context(), by, &w.user); !errors.Is(err, account.ErrStale) || codes != nil {
		t.Errorf("Renew = %v, want ErrStale and no codes", err)
	}
	if err := w.check(secondfactor.NewCode(old[0].Reveal())); err != nil {
		t.Errorf("a code of before, after a renewal that failed: %v", err)
	}
}

// What was begun and not confirmed is no factor.
func TestStateWithoutAFactor(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Begin(t.Context(), by, &w.user); err != nil {
		t.Fatal(err)
	}
	if s := w.state(); s != (secondfactor.State{}) {
		t.Errorf("State = %+v", s)
	}
}
