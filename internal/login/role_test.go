package login_test

import (
	"errors"
	"testing"

	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/login"
	"github.com/flakepass/flakepass/internal/secondfactor"
)

// Whoever comes to a door that is not theirs keeps the login that they have
// elsewhere.
func TestLoginAsAnotherRoleBeginsNothing(t *testing.T) {
	w := newWorld(t)
	_, err := w.login.LoginAs(t.Context(), account.Asker{}, account.RoleAdmin, "alice", account.NewPassword(oldPassword), secondfactor.Code{})
	if refused, known := errors.AsType[*account.RefusedError](err); !errors.Is(err, login.ErrRole) || !known || refused.UserID != w.user.ID {
		t.Errorf("LoginAs = %v, want ErrRole, about alice", err)
	}
	if _, err := w.login.LoginAs(t.Context(), account.Asker{}, account.RoleAdmin, "alice", account.NewPassword("not the right passphrase"), secondfactor.Code{}); !errors.Is(err, account.ErrWrong) {
		t.Errorf("with a wrong password: %v, want ErrWrong: the role is told to who knows the password", err)
	}
	if w.sessions.opened != 0 {
		t.Errorf("%d sessions opened, want none", w.sessions.opened)
	}
	if opened, err := w.login.LoginAs(t.Context(), account.Asker{}, account.RoleUser, "alice", account.NewPassword(oldPassword), secondfactor.Code{}); err != nil || opened.Identity.UserID != w.user.ID {
		t.Errorf("LoginAs with the role = %v, %v", opened, err)
	}
}

func TestConfirmAsksForThePassword(t *testing.T) {
	w := newWorld(t)
	if err := w.login.Confirm(t.Context(), account.Asker{}, w.user.ID, account.NewPassword(oldPassword), secondfactor.Code{}); err != nil {
		t.Errorf("Confirm = %v", err)
	}
	if err := w.login.Confirm(t.Context(), account.Asker{}, w.user.ID, account.NewPassword("not the right passphrase"), secondfactor.Code{}); !errors.Is(err, account.ErrWrong) {
		t.Errorf("with a wrong password: %v, want ErrWrong", err)
	}
	if err := w.login.Confirm(t.Context(), account.Asker{}, 12345, account.NewPassword(oldPassword), secondfactor.Code{}); err == nil {
		t.Error("nobody was confirmed")
	}
	w.users.Change(w.user.ID, func(u *account.User) { u.DisabledAt = u.CreatedAt })
	if err := w.login.Confirm(t.Context(), account.Asker{}, w.user.ID, account.NewPassword(oldPassword), secondfactor.Code{}); !errors.Is(err, account.ErrDisabled) {
		t.Errorf("of a disabled account: %v, want ErrDisabled", err)
	}
}
