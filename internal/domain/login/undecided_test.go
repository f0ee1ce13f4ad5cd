package login_test

import (
	"context"
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
}

// TestUndecidedCodeIsNoGuess: neither is a password change whose new password could not be hashed.
func TestUndecidedCodeIsNoGuess(t *testing.T) {
	for _, why := range []error{errors.New("no route"), secondfactor.ErrSealed} {
		w, f := newGuarded(t)
		needs, _ := errors.AsType[*login.NeedsCodeError](w.in(oldPassword, secondfactor.Code{}))
		broken := checker{f, func(*account.User) error { return why }}
		w.login.Codes, w.login.Factors, w.limits.returned = broken, broken, 0
		_, finish := w.login.Finish(t.Context(), w.client(), "", needs.Ticket.Reveal(), good)
		_, confirm := w.login.ConfirmFactor(t.Context(), w.client(), good)
		for n, err := range []error{
			w.in(oldPassword, good), finish, confirm,
			w.login.Reauthenticate(t.Context(), w.client(), account.NewPassword(oldPassword), good),
			w.login.RemoveFactor(t.Context(), w.client(), account.NewPassword(oldPassword), good),
		} {
			if !errors.Is(err, why) || !errors.Is(err, account.ErrUndecided) {
				t.Errorf("%d: %v", n, err)
			}
		}
		if w.limits.returned != 5 {
			t.Errorf("%v: %d of 5 given back", why, w.limits.returned)
		}
	}
	w, _ := newGuarded(t)
	w.login.Accounts = busy{w.login.Accounts}
	err := w.login.ChangePassword(t.Context(), w.client(), account.NewPassword(oldPassword), account.NewPassword(newPassword), good)
	if !errors.Is(err, account.ErrBusy) || w.limits.returned != 1 {
		t.Errorf("%v, %d given back", err, w.limits.returned)
	}
}

// busy has no time for the hash of a new password.
type busy struct{ login.Accounts }

func (busy) NewHashBeside(context.Context, account.Asker, string, account.Password) (account.PHC, error) {
	return account.PHC{}, account.ErrBusy
}
