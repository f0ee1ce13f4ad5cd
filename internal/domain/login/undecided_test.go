package login_test

import (
	"errors"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// TestRightPasswordIsNoGuess: an attempt with the right password that is
// refused for another reason is not counted as a guess.
func TestRightPasswordIsNoGuess(t *testing.T) {
	outage := errors.New("no route")
	w := newWorld(t)
	for _, err := range []error{outage, account.ErrDisabled, account.ErrStale, account.ErrNotFound} {
		w.sessions.err = err
		if _, got := w.login.Login(t.Context(), w.client(), login.Credentials{Username: "alice", Password: account.NewPassword(oldPassword), Code: secondfactor.Code{}}); !errors.Is(got, account.ErrUndecided) {
			t.Errorf("Login after %v: %v", err, got)
		}
		if _, got := w.login.Login(t.Context(), w.client(), login.Credentials{Username: "alice", Password: account.NewPassword("not the right passphrase"), Code: secondfactor.Code{}}); errors.Is(got, account.ErrUndecided) {
			t.Errorf("a wrong password: %v", got)
		}
		w.users.err = err
		if got := w.change(oldPassword, newPassword); !errors.Is(got, account.ErrUndecided) {
			t.Errorf("ChangePassword after %v: %v", err, got)
		}
		if got := w.change("not the right passphrase", newPassword); errors.Is(got, account.ErrUndecided) {
			t.Errorf("a wrong current password: %v", got)
		}
	}
	if err := w.login.Reauthenticate(t.Context(), as(w.client(), 12345), account.NewPassword(oldPassword), secondfactor.Code{}); !errors.Is(err, account.ErrUndecided) {
		t.Errorf("no user to confirm: %v", err)
	}
}
