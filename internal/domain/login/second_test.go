package login_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

const shortPassword = "xk7 Vrtl" // 8 characters

// factors knows one good code, and counts what it is asked.
type factors struct {
	secondfactor.Service
	asked, removed, renewed int
	staleRemoval            bool
}

var good = secondfactor.NewCode("123456")

func (f *factors) Check(_ context.Context, _ audit.Actor, _ *account.User, code secondfactor.Code) error {
	f.asked++
	switch {
	case !code.Given():
		return secondfactor.ErrRequired
	case code.Reveal() != good.Reveal():
		return secondfactor.ErrInvalid
	}
	return nil
}

// Ticket is that of a factor of which no code was used.
func (f *factors) Ticket(_ context.Context, h secondfactor.Holder) (secondfactor.Ticket, error) {
	f.Store = noCodes{}
	return f.Service.Ticket(context.Background(), h)
}

// noCodes is a store of a factor without codes.
type noCodes struct{ secondfactor.Store }

func (noCodes) Factor(context.Context, idworker.ID) (secondfactor.Factor, error) {
	return secondfactor.Factor{}, nil
}

func (f *factors) CheckTicket(ctx context.Context, by audit.Actor, user *account.User, h secondfactor.Holder, code secondfactor.Code) error {
	if h.UserID != user.ID {
		return secondfactor.ErrTicket
	}
	if h.Last != 0 {
		return nil
	}
	return f.Check(ctx, by, user, code)
}

func (f *factors) Remove(context.Context, audit.Actor, *account.User) error {
	if f.staleRemoval {
		return account.ErrStale
	}
	f.removed++
	return nil
}

// newGuarded is a world whose user has a second factor.
func newGuarded(t *testing.T) (*world, *factors) {
	t.Helper()
	w := newWorld(t)
	keys, err := secondfactor.NewKeys(make([]byte, secondfactor.KeyLength))
	if err != nil {
		t.Fatal(err)
	}
	f := &factors{Service: secondfactor.Service{Keys: keys, Now: time.Now}}
	w.login.Codes, w.login.Factors = f, f
	w.users.Change(w.user.ID, func(u *account.User) { u.SecondFactorAt = u.CreatedAt })
	return w, f
}

func (w *world) in(password string, code secondfactor.Code) error {
	_, err := w.login.Login(w.t.Context(), w.client(), login.Credentials{Username: "alice", Password: account.NewPassword(password), Code: code})
	return err
}

// Only with the right password does an answer mention codes.
func TestLoginAsksForTheCodeBehindThePassword(t *testing.T) {
	w, f := newGuarded(t)
	for _, code := range []secondfactor.Code{{}, good, secondfactor.NewCode("999999")} {
		if err := w.in("not the right passphrase", code); !errors.Is(err, account.ErrWrong) {
			t.Errorf("with a wrong password: %v, want ErrWrong", err)
		}
	}
	if f.asked != 0 {
		t.Errorf("%d codes were looked at behind a wrong password", f.asked)
	}
	if err := w.in(oldPassword, secondfactor.Code{}); !errors.Is(err, secondfactor.ErrRequired) {
		t.Errorf("without a code: %v, want ErrRequired", err)
	}
	err := w.in(oldPassword, secondfactor.NewCode("999999"))
	if refused, known := errors.AsType[*account.RefusedError](err); !errors.Is(err, secondfactor.ErrInvalid) || !known || refused.UserID != w.user.ID {
		t.Errorf("with a wrong code: %v, want ErrInvalid, about alice", err)
	}
	if w.sessions.opened != 0 {
		t.Errorf("%d logins began", w.sessions.opened)
	}
	if err := w.in(oldPassword, good); err != nil {
		t.Error(err)
	}
}

// An answer shows the role only after password and code.
func TestLoginAsTellsNoRoleBeforeTheCode(t *testing.T) {
	w, _ := newGuarded(t)
	_, err := w.login.Login(t.Context(), w.client(), login.Credentials{Only: account.RoleAdmin, Username: "alice", Password: account.NewPassword(oldPassword), Code: secondfactor.Code{}})
	if errors.Is(err, login.ErrRole) || !errors.Is(err, secondfactor.ErrRequired) {
		t.Errorf("LoginAs = %v, want ErrRequired", err)
	}
}

func TestATicketFinishesALogin(t *testing.T) {
	w, _ := newGuarded(t)
	finish := func(ticket string, code secondfactor.Code) error {
		_, err := w.login.Finish(t.Context(), w.client(), account.RoleUser, ticket, code)
		return err
	}
	_, err := w.login.Login(t.Context(), w.client(), login.Credentials{Only: account.RoleUser, Username: "alice", Password: account.NewPassword(oldPassword), Code: secondfactor.Code{}})
	needs, ok := errors.AsType[*login.NeedsCodeError](err)
	if !ok {
		t.Fatalf("LoginAs = %v, want a ticket", err)
	}
	ticket := needs.Ticket.Reveal()
	for _, c := range []struct {
		ticket string
		code   secondfactor.Code
		want   error
	}{
		{"", good, secondfactor.ErrTicket},
		{ticket + "x", good, secondfactor.ErrTicket},
		{ticket, secondfactor.Code{}, secondfactor.ErrRequired},
		{ticket, secondfactor.NewCode("999999"), secondfactor.ErrInvalid},
	} {
		err := finish(c.ticket, c.code)
		if !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
		// The record calls whom it is about by the name, too.
		if known, ok := errors.AsType[*account.RefusedError](err); ok != (c.ticket == ticket) || ok && known.Username != "alice" {
			t.Errorf("%v is about %+v", err, known)
		}
	}
	if _, err := w.login.Finish(t.Context(), w.client(), account.RoleAdmin, ticket, good); !errors.Is(err, login.ErrRole) {
		t.Errorf("at the interface of another role: %v", err)
	}
	if w.sessions.opened != 0 {
		t.Errorf("%d logins began", w.sessions.opened)
	}
	if err := finish(ticket, good); err != nil {
		t.Error(err)
	}
	w.users.Change(w.user.ID, func(u *account.User) { u.PasswordVersion++ })
	if err := finish(ticket, good); !errors.Is(err, secondfactor.ErrTicket) {
		t.Errorf("after a change of the password: %v, want ErrTicket", err)
	}
	w.users.Change(w.user.ID, func(u *account.User) { u.PasswordVersion--; u.DisabledAt = u.CreatedAt })
	if err := finish(ticket, good); !errors.Is(err, account.ErrDisabled) {
		t.Errorf("of a disabled account: %v, want ErrDisabled", err)
	}
}

// Eight characters are enough beside a second factor, and open nothing alone.
func TestAShortPasswordNeedsASecondFactor(t *testing.T) {
	w, _ := newGuarded(t)
	change := func(current, next string, code secondfactor.Code) error {
		return w.login.ChangePassword(t.Context(), w.client(), account.NewPassword(current), account.NewPassword(next), code)
	}
	if err := change(oldPassword, shortPassword, secondfactor.Code{}); !errors.Is(err, secondfactor.ErrRequired) {
		t.Errorf("a change without a code: %v, want ErrRequired", err)
	}
	for _, bad := range []string{"xk7 Vrt", "password", "12345678", "alice 12"} {
		err := change(oldPassword, bad, good)
		if _, wrong := errors.AsType[*invalid.Error](err); !wrong {
			t.Errorf("%q was taken", bad)
		}
		if !errors.Is(err, secondfactor.ErrUnchecked) {
			t.Errorf("%q: %v, which says that the code was looked at", bad, err)
		}
	}
	if err := change(oldPassword, shortPassword, good); err != nil {
		t.Fatal(err)
	}
	if err := w.in(shortPassword, good); err != nil {
		t.Errorf("beside the factor: %v", err)
	}
	w.users.Change(w.user.ID, func(u *account.User) { u.SecondFactorAt = time.Time{} }) // as an admin does
	if err := w.in(shortPassword, secondfactor.Code{}); !errors.Is(err, account.ErrShort) {
		t.Errorf("alone: %v, want ErrShort", err)
	}
	if err := w.in("not the right passphrase", secondfactor.Code{}); !errors.Is(err, account.ErrWrong) {
		t.Errorf("a wrong one: %v, want ErrWrong: only the right password is told", err)
	}
	if _, wrong := errors.AsType[*invalid.Error](change(shortPassword, "yq8 Wsum", secondfactor.Code{})); !wrong {
		t.Error("a short password was taken without a second factor")
	}
}

func TestRemovalAsksForEverything(t *testing.T) {
	w, f := newGuarded(t)
	remove := func(password string, code secondfactor.Code) error {
		return w.login.RemoveFactor(t.Context(), w.client(), account.NewPassword(password), code)
	}
	if err := remove("not the right passphrase", good); !errors.Is(err, account.ErrWrong) {
		t.Errorf("with a wrong password: %v", err)
	}
	if err := remove(oldPassword, secondfactor.Code{}); !errors.Is(err, secondfactor.ErrRequired) {
		t.Errorf("without a code: %v", err)
	}
	f.staleRemoval = true
	if err := remove(oldPassword, good); !errors.Is(err, account.ErrUndecided) {
		t.Errorf("of an account that changes all the time: %v", err)
	}
	f.staleRemoval = false
	if f.removed != 0 {
		t.Fatal("it was removed")
	}
	if err := remove(oldPassword, good); err != nil || f.removed != 1 {
		t.Errorf("Remove = %v, %d removed", err, f.removed)
	}
	if err := w.login.ChangePassword(t.Context(), w.client(), account.NewPassword(oldPassword), account.NewPassword(shortPassword), good); err != nil {
		t.Fatal(err)
	}
	if err := remove(shortPassword, good); !errors.Is(err, account.ErrShort) || f.removed != 1 {
		t.Errorf("with a password too short to stand alone: %v, want ErrShort", err)
	}
}

func TestReauthenticationAsksForTheCode(t *testing.T) {
	w, _ := newGuarded(t)
	for code, want := range map[string]error{"": secondfactor.ErrRequired, "999999": secondfactor.ErrInvalid, "123456": nil} {
		if err := w.login.Reauthenticate(t.Context(), w.client(), account.NewPassword(oldPassword), secondfactor.NewCode(code)); !errors.Is(err, want) {
			t.Errorf("code %q: %v, want %v", code, err, want)
		}
	}
}
