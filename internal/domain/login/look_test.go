package login_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// meanwhile has the account changed after the proofs of the first look, before its login begins.
func (w *world) meanwhile(change func(*account.User)) {
	changed := false
	w.sessions.before = func() error {
		if changed {
			return nil
		}
		changed = true
		w.users.Change(w.user.ID, change)
		return account.ErrStale
	}
}

// TestLoginLooksAgainAfterAChange: a right password is not called wrong because somebody adds a
// second factor, or changes the role, at the same moment. What has changed counts.
func TestLoginLooksAgainAfterAChange(t *testing.T) {
	another := newWorld(t)
	if err := another.change(oldPassword, newPassword); err != nil {
		t.Fatal(err)
	}
	other, _ := another.users.ByID(t.Context(), another.user.ID)
	for name, c := range map[string]struct {
		change func(*account.User)
		only   account.Role
		want   error
	}{
		"another way in":   {func(u *account.User) { u.PasswordVersion++ }, "", nil},
		"a second factor":  {func(u *account.User) { u.PasswordVersion++; u.SecondFactorAt = u.CreatedAt }, "", secondfactor.ErrRequired},
		"another password": {func(u *account.User) { u.PasswordVersion++; u.PasswordHash = other.PasswordHash }, "", account.ErrWrong},
		"another role":     {func(u *account.User) { u.PasswordVersion++; u.Role = account.RoleAdmin }, account.RoleUser, login.ErrRole},
		"disabled":         {func(u *account.User) { u.DisabledAt = u.CreatedAt }, "", account.ErrDisabled},
	} {
		w, f := newGuarded(t)
		w.users.Change(w.user.ID, func(u *account.User) { u.SecondFactorAt = time.Time{} })
		w.meanwhile(c.change)
		_, err := w.login.Login(t.Context(), w.client(), login.Credentials{Username: "alice", Password: account.NewPassword(oldPassword), Only: c.only})
		if !errors.Is(err, c.want) || errors.Is(err, account.ErrUndecided) || (err == nil) != (w.sessions.opened == 1) || w.limits.tried != 1 || w.limits.returned != 0 {
			t.Errorf("%s: %v, want %v; %d opened, %+v", name, err, c.want, w.sessions.opened, w.limits)
		}
		if now, _ := w.users.ByID(t.Context(), w.user.ID); err == nil && w.sessions.version != now.PasswordVersion {
			t.Errorf("%s: opened with version %d, want %d: the one of the second look", name, w.sessions.version, now.PasswordVersion)
		}
		needs, ok := errors.AsType[*login.NeedsCodeError](err)
		if !ok {
			continue
		}
		w.sessions.before = nil // the ticket is for the account as it is now
		if _, err := w.login.Finish(t.Context(), w.client(), "", needs.Ticket.Reveal(), good); err != nil || f.asked != 2 {
			t.Errorf("%s: with the ticket: %v, %d codes", name, err, f.asked)
		}
	}
}

// TestLoginThatLooksAgainNeedsNoSecondCode: the first look has used the code up. One of another
// factor does not count.
func TestLoginThatLooksAgainNeedsNoSecondCode(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*account.User)
		want   error
	}{
		"the same factor":    {func(u *account.User) { u.PasswordVersion++ }, nil},
		"the factor is gone": {func(u *account.User) { u.PasswordVersion++; u.SecondFactorAt = time.Time{} }, nil},
		"another factor":     {func(u *account.User) { u.PasswordVersion++; u.SecondFactorAt = u.SecondFactorAt.Add(time.Millisecond) }, secondfactor.ErrInvalid},
	} {
		w, f := newGuarded(t)
		w.login.Codes = &onceOnly{factors: f}
		w.meanwhile(c.change)
		if err := w.in(oldPassword, good); !errors.Is(err, c.want) || (err == nil) != (w.sessions.opened == 1) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestCodeCountsForOneAttempt: the next one of the same client shows a code again.
func TestCodeCountsForOneAttempt(t *testing.T) {
	w, f := newGuarded(t)
	w.login.Codes = &onceOnly{factors: f}
	c := w.client()
	for _, want := range []error{nil, secondfactor.ErrInvalid} {
		if err := w.login.Reauthenticate(t.Context(), c, account.NewPassword(oldPassword), good); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestLoginBegunBeforeADeletionIsUndecided: the right password is not called wrong, and the login
// does not cancel what was asked for after it had begun. That is no guess.
func TestLoginBegunBeforeADeletionIsUndecided(t *testing.T) {
	w := newWorld(t)
	w.meanwhile(func(u *account.User) { u.PasswordVersion++; u.DeletionAskedAt = time.Now() })
	if err := w.in(oldPassword, secondfactor.Code{}); !errors.Is(err, account.ErrUndecided) || errors.Is(err, account.ErrWrong) || w.sessions.opened != 0 || w.limits.returned != 1 {
		t.Errorf("%v, %d opened, %+v", err, w.sessions.opened, w.limits)
	}
	if err := w.in(oldPassword, secondfactor.Code{}); err != nil || w.sessions.opened != 1 {
		t.Errorf("the next one: %v, %d opened", err, w.sessions.opened)
	}
}

// TestFactorThatIsRemovedMeanwhileIsLookedAt: the login needs no code any more.
func TestFactorThatIsRemovedMeanwhileIsLookedAt(t *testing.T) {
	w, f := newGuarded(t)
	w.login.Codes = checker{f, func(*account.User) error {
		w.users.Change(w.user.ID, func(u *account.User) { u.PasswordVersion++; u.SecondFactorAt = time.Time{} })
		return secondfactor.ErrNotEnrolled
	}}
	for name, enter := range map[string]func() error{
		"with the password": func() error { return w.in(oldPassword, good) },
		"by an issuer":      func() error { _, err := w.issue(login.Issue{UserID: w.user.ID, Code: good}); return err },
	} {
		w.users.Change(w.user.ID, func(u *account.User) { u.SecondFactorAt = u.CreatedAt })
		w.sessions.opened, w.limits.proved = 0, 0
		if err := enter(); err != nil || w.sessions.opened != 1 || w.limits.proved != 1 {
			t.Errorf("%s: %v, %d opened, %+v", name, err, w.sessions.opened, w.limits)
		}
	}
}

// checker says what a check of a code finds.
type checker struct {
	*factors
	finds func(*account.User) error
}

func (c checker) Check(_ context.Context, _ audit.Actor, u *account.User, _ secondfactor.Code) error {
	return c.finds(u)
}

func (c checker) CheckTicket(_ context.Context, _ audit.Actor, u *account.User, _ secondfactor.Holder, _ secondfactor.Code) error {
	return c.finds(u)
}

func (c checker) Confirm(_ context.Context, _ audit.Actor, u *account.User, _ secondfactor.Code) ([]secondfactor.RecoveryCode, error) {
	return nil, c.finds(u)
}

// TestTicketIsOverAfterAChange: it stands for the password of before, which is not called wrong.
func TestTicketIsOverAfterAChange(t *testing.T) {
	w, _ := newGuarded(t)
	needs, _ := errors.AsType[*login.NeedsCodeError](w.in(oldPassword, secondfactor.Code{}))
	w.meanwhile(func(u *account.User) { u.PasswordVersion++ })
	if _, err := w.login.Finish(t.Context(), w.client(), "", needs.Ticket.Reveal(), good); !errors.Is(err, secondfactor.ErrTicket) || w.sessions.opened != 0 {
		t.Errorf("%v, %d opened", err, w.sessions.opened)
	}
}

// TestChangeDuringOwnActIsLookedAt: the acts of somebody who is logged in look again as well.
func TestChangeDuringOwnActIsLookedAt(t *testing.T) {
	w, f := newGuarded(t)
	once := &onceOnly{factors: f}
	w.login.Codes, w.users.stale = once, 1
	if err := w.login.Reauthenticate(t.Context(), w.client(), account.NewPassword(oldPassword), good); err != nil || w.users.proved != w.user.PasswordVersion+1 {
		t.Errorf("a proof: %v, for version %d", err, w.users.proved)
	}
	once.used, w.users.stale = false, 1
	if err := w.login.ChangePassword(t.Context(), w.client(), account.NewPassword(oldPassword), account.NewPassword(newPassword), good); err != nil || w.users.changed != 1 {
		t.Errorf("a new password: %v", err)
	}
	if w.limits.returned != 0 || w.limits.proved != 2 {
		t.Errorf("%+v", w.limits)
	}
}

// TestAccountThatChangesAllTheTimeIsUndecided, and the attempt is no guess.
func TestAccountThatChangesAllTheTimeIsUndecided(t *testing.T) {
	w := newWorld(t)
	for _, moved := range []error{account.ErrStale, account.ErrNotFound} {
		w.sessions.err, w.limits.returned = moved, 0
		if err := w.in(oldPassword, secondfactor.Code{}); !errors.Is(err, account.ErrUndecided) || errors.Is(err, account.ErrWrong) || w.limits.returned != 1 {
			t.Errorf("Login = %v after %v, want undecided; %+v", err, moved, w.limits)
		}
	}
}
