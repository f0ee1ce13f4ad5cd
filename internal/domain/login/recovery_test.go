package login_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

func (f *factors) Begin(context.Context, audit.Actor, *account.User) (secondfactor.Enrolment, error) {
	return secondfactor.Enrolment{}, secondfactor.ErrEnrolled
}

func (f *factors) Renew(context.Context, audit.Actor, *account.User) ([]secondfactor.RecoveryCode, error) {
	if f.staleRemoval {
		return nil, account.ErrStale
	}
	f.renewed++
	return make([]secondfactor.RecoveryCode, secondfactor.RecoveryCodes), nil
}

func TestRenewalAsksForEverything(t *testing.T) {
	w, f := newGuarded(t)
	renew := func(password string, code secondfactor.Code) error {
		codes, err := w.login.RenewRecovery(t.Context(), w.client(), account.NewPassword(password), code)
		if (len(codes) > 0) != (err == nil) {
			t.Errorf("%d codes beside %v", len(codes), err)
		}
		return err
	}
	if err := renew("not the right passphrase", good); !errors.Is(err, account.ErrWrong) || f.asked != 0 {
		t.Errorf("with a wrong password: %v, and %d codes looked at", err, f.asked)
	}
	if err := renew(oldPassword, secondfactor.Code{}); !errors.Is(err, secondfactor.ErrRequired) {
		t.Errorf("without a code: %v", err)
	}
	if err := renew(oldPassword, secondfactor.NewCode("999999")); !errors.Is(err, secondfactor.ErrInvalid) {
		t.Errorf("with a wrong code: %v", err)
	}
	f.staleRemoval = true
	if err := renew(oldPassword, good); !errors.Is(err, account.ErrUndecided) {
		t.Errorf("of an account that changes all the time: %v", err)
	}
	f.staleRemoval = false
	if f.renewed != 0 {
		t.Fatal("they were renewed")
	}
	if err := renew(oldPassword, good); err != nil || f.renewed != 1 {
		t.Errorf("Renew = %v, %d times", err, f.renewed)
	}
	w.users.Change(w.user.ID, func(u *account.User) { u.SecondFactorAt = time.Time{} })
	if err := renew(oldPassword, good); !errors.Is(err, secondfactor.ErrNotEnrolled) {
		t.Errorf("without a factor: %v", err)
	}
}

// TestARightPasswordIsNoGuess: an act that is refused for another reason than its
// proof gives the attempt back. Otherwise users lock themselves out by asking again.
func TestARightPasswordIsNoGuess(t *testing.T) {
	p := account.NewPassword(oldPassword)
	guarded, _ := newGuarded(t)
	if _, err := guarded.login.BeginFactor(t.Context(), guarded.client(), p); !errors.Is(err, secondfactor.ErrEnrolled) || guarded.limits.returned != 1 {
		t.Errorf("begin a second factor again: %v, %d given back", err, guarded.limits.returned)
	}
	w, _ := newGuarded(t)
	w.users.Change(w.user.ID, func(u *account.User) { u.SecondFactorAt = time.Time{} })
	if _, err := w.login.RenewRecovery(t.Context(), w.client(), p, good); !errors.Is(err, secondfactor.ErrNotEnrolled) || w.limits.returned != 1 {
		t.Errorf("new recovery codes without a second factor: %v, %d given back", err, w.limits.returned)
	}
}
