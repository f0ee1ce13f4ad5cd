package login_test

import (
	"errors"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A user whom an interface refuses because of the role keeps the login that they
// have elsewhere.
func TestLoginAsAnotherRoleBeginsNothing(t *testing.T) {
	w := newWorld(t)
	_, err := w.login.Login(t.Context(), w.client(), login.Credentials{Only: account.RoleAdmin, Username: "alice", Password: account.NewPassword(oldPassword), Code: secondfactor.Code{}})
	if refused, known := errors.AsType[*account.RefusedError](err); !errors.Is(err, login.ErrRole) || !known || refused.UserID != w.user.ID {
		t.Errorf("LoginAs = %v, want ErrRole, about alice", err)
	}
	if _, err := w.login.Login(t.Context(), w.client(), login.Credentials{Only: account.RoleAdmin, Username: "alice", Password: account.NewPassword("not the right passphrase"), Code: secondfactor.Code{}}); !errors.Is(err, account.ErrWrong) {
		t.Errorf("with a wrong password: %v, want ErrWrong: the role is shown only with the right password", err)
	}
	if w.sessions.opened != 0 {
		t.Errorf("%d sessions opened, want none", w.sessions.opened)
	}
	if opened, err := w.login.Login(t.Context(), w.client(), login.Credentials{Only: account.RoleUser, Username: "alice", Password: account.NewPassword(oldPassword), Code: secondfactor.Code{}}); err != nil || session.UserOf(opened.Identity) != w.user.ID {
		t.Errorf("LoginAs with the role = %v, %v", opened, err)
	}
}

// TestAServiceLogsInByItsPasswordOnlyIfItMay: that it may not is shown only with the right
// password, ends no login, and is on record.
func TestAServiceLogsInByItsPasswordOnlyIfItMay(t *testing.T) {
	w := newWorld(t)
	w.users.Change(w.user.ID, func(u *account.User) { u.Role = account.RoleService })
	in := login.Credentials{Username: "alice", Password: account.NewPassword(oldPassword)}
	wrong := login.Credentials{Username: "alice", Password: account.NewPassword("not the right passphrase")}
	w.login.ByPassword = func(u *account.User) bool { return u.ID != w.user.ID }
	_, err := w.login.Login(t.Context(), w.client(), in)
	if refused, known := errors.AsType[*account.RefusedError](err); !errors.Is(err, login.ErrServiceLogin) || !known || refused.UserID != w.user.ID {
		t.Errorf("got %v, want ErrServiceLogin, about alice", err)
	}
	if code, failed := login.Reason(err); code != "service_login_refused" || !failed {
		t.Errorf("on record as %s, %v", code, failed)
	}
	if _, err := w.login.Login(t.Context(), w.client(), wrong); !errors.Is(err, account.ErrWrong) {
		t.Errorf("with a wrong password: %v", err)
	}
	if w.sessions.opened != 0 {
		t.Errorf("%d sessions opened, want none", w.sessions.opened)
	}
	w.login.ByPassword = func(*account.User) bool { return true }
	if _, err := w.login.Login(t.Context(), w.client(), in); err != nil || w.sessions.opened != 1 {
		t.Errorf("who may: %v, %d sessions", err, w.sessions.opened)
	}
}

// TestReauthenticationAsksForThePassword: what was not shown is not noted, and
// what was is, for the password of that version. A login that is over is reported as
// such.
func TestReauthenticationAsksForThePassword(t *testing.T) {
	w := newWorld(t)
	again := func(id idworker.ID, password string) error {
		return w.login.Reauthenticate(t.Context(), as(w.client(), id), account.NewPassword(password), secondfactor.Code{})
	}
	if err := again(w.user.ID, "not the right passphrase"); !errors.Is(err, account.ErrWrong) {
		t.Errorf("with a wrong password: %v, want ErrWrong", err)
	}
	if err := again(12345, oldPassword); err == nil {
		t.Error("an empty identity was accepted")
	}
	if w.users.proved != 0 {
		t.Error("noted without a password")
	}
	if err := again(w.user.ID, oldPassword); err != nil || w.users.proved != w.user.PasswordVersion {
		t.Errorf("%v, noted for version %d of the password; want %d", err, w.users.proved, w.user.PasswordVersion)
	}
	for stored, want := range map[error]error{account.ErrStale: account.ErrUndecided, flakepass.ErrRevoked: flakepass.ErrRevoked} {
		w.users.err = stored
		if err := again(w.user.ID, oldPassword); !errors.Is(err, want) {
			t.Errorf("after %v: %v, want %v", stored, err, want)
		}
	}
	if err := again(w.user.ID, oldPassword); !errors.Is(err, account.ErrUndecided) && !errors.Is(err, account.ErrWrong) {
		t.Errorf("%v counts as a guess", err)
	}
}
