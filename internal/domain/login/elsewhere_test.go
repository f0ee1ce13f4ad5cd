package login_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
)

// elsewhere is another system, and the rows that get their first hash.
type elsewhere struct {
	users *users
	said  account.Said
	err   error
	asked int
	first account.User // who got a hash
	after func()       // before each answer
}

func (e *elsewhere) Ask(context.Context, account.Asker, account.Question) (account.Said, error) {
	e.asked++
	if e.after != nil {
		e.after()
	}
	return e.said, e.err
}

func (e *elsewhere) FirstHash(_ context.Context, u account.User, ev audit.Event) error {
	if held, err := e.users.ByID(context.Background(), u.ID); err != nil || !held.PasswordHash.IsZero() {
		return account.ErrExists
	}
	e.users.events = append(e.users.events, ev)
	e.first = u
	e.users.Change(u.ID, func(held *account.User) {
		held.PasswordHash, held.PasswordVersion, held.ImportedVersion = u.PasswordHash, 2, 2
	})
	return nil
}

func newElsewhere(t *testing.T) (*world, *elsewhere) {
	t.Helper()
	w := newWorld(t)
	e := &elsewhere{users: w.users, said: account.Said{Right: true, ExternalID: "7"}}
	w.login.Accounts.(*account.Service).Elsewhere, w.login.Arrivals = e, e
	return w, e
}

func (w *world) as(name, password string) error {
	_, err := w.login.Login(w.t.Context(), w.client(), login.Credentials{Username: name, Password: account.NewPassword(password)})
	return err
}

// TestWhoArrivesIsOursFromThenOn: the first login makes the account, with its event, and begins a session;
// the second one asks nobody, also with a password that is too short for a new one.
func TestWhoArrivesIsOursFromThenOn(t *testing.T) {
	for _, password := range []string{oldPassword, "tïny"} {
		w, e := newElsewhere(t)
		for range 2 {
			if err := w.as("Newcomer", password); err != nil {
				t.Fatal(err)
			}
		}
		u, err := w.users.ByUsername(t.Context(), "newcomer")
		if err != nil || e.asked != 1 || w.sessions.opened != 2 || u.ExternalID != "7" || u.Role != account.RoleUser || !u.BroughtPassword() {
			t.Errorf("%+v, %v; asked %d times, %d sessions", u, err, e.asked, w.sessions.opened)
		}
		if want := "#" + u.ID.String(); w.limits.provedAs != want {
			t.Errorf("the place is one of %q, want %q", w.limits.provedAs, want)
		}
		if len(w.users.events) != 1 {
			t.Fatalf("%d events", len(w.users.events))
		}
		ev := w.users.events[0]
		if ev.Action != audit.UsersImported || ev.By.ID != u.ID || ev.Target != audit.AboutUser(u.ID, "newcomer") || string(ev.New) != `{"by":"hook","external_id":"7"}` || ev.Need != audit.NeedsNothing {
			t.Errorf("%+v %s", ev, ev.New)
		}
		if log := w.log.String(); strings.Contains(log, password) || !strings.Contains(log, "user imported by the hook") {
			t.Error(log)
		}
		if e.said = (account.Said{}); !errors.Is(w.as("newcomer", "another one"), account.ErrWrong) {
			t.Error("another password opens it")
		}
	}
}

// TestImportedUserGetsTheFirstHash, and keeps the row.
func TestImportedUserGetsTheFirstHash(t *testing.T) {
	w, e := newElsewhere(t)
	u := account.User{ID: 77, Username: "imported", Role: account.RoleUser, ExternalID: "7", PasswordVersion: 1}
	if err := w.users.Users.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if err := w.as("imported", "tïny"); err != nil || e.first.ID != 77 || len(w.users.events) != 1 || w.users.events[0].Target.ID != 77 || w.sessions.version != 2 {
		t.Errorf("%v, %+v, %v", err, e.first, w.users.events)
	}
	if err := w.as("imported", "tïny"); err != nil || e.asked != 1 {
		t.Errorf("%v, asked %d times", err, e.asked)
	}
}

// TestNoOtherSystemSeesTheLoginOfAnAdmin: the console is for admins, and a mistyped name there makes nobody.
func TestNoOtherSystemSeesTheLoginOfAnAdmin(t *testing.T) {
	w, e := newElsewhere(t)
	for _, name := range []string{"newcomer", "alice"} {
		_, err := w.login.Login(t.Context(), w.client(), login.Credentials{Username: name, Password: account.NewPassword(newPassword), Only: account.RoleAdmin})
		if !errors.Is(err, account.ErrWrong) || e.asked != 0 || len(w.users.events) != 0 {
			t.Errorf("%s: %v, asked %d times", name, err, e.asked)
		}
	}
}

// TestWhoArrivesTwiceIsOne: somebody has taken the name while the other system was asked.
func TestWhoArrivesTwiceIsOne(t *testing.T) {
	for name, c := range map[string]struct {
		password string // of the account that was made meanwhile
		want     error
		asked    int // the second time about a made-up name
	}{"the same login": {oldPassword, nil, 1}, "somebody else": {newPassword, account.ErrWrong, 2}} {
		w, e := newElsewhere(t)
		e.after = func() {
			if e.asked > 1 {
				return
			}
			hash, err := w.login.Accounts.NewHash(t.Context(), account.Asker{}, "newcomer", account.NewPassword(c.password))
			if err == nil {
				err = w.users.Users.Create(t.Context(), account.User{ID: 78, Username: "newcomer", Role: account.RoleUser, PasswordHash: hash, PasswordVersion: 1})
			}
			if err != nil {
				t.Error(err)
			}
		}
		if err := w.as("newcomer", oldPassword); !errors.Is(err, c.want) || c.want == nil && err != nil || e.asked != c.asked || len(w.users.events) > 1 {
			t.Errorf("%s: %v, asked %d times", name, err, e.asked)
		}
	}
	w, e := newElsewhere(t)
	w.users.err = account.ErrExists // and nobody has the name
	if err := w.as("newcomer", oldPassword); !errors.Is(err, account.ErrElsewhere) || errors.Is(err, account.ErrWrong) || w.sessions.opened != 0 || e.asked != 2 {
		t.Errorf("%v, asked %d times", err, e.asked)
	}
}

// TestNoAnswerIsAGuess: without an answer the attempt counts, at a name that is asked about and at one that has an account. So
// a system that fails gives no free guesses, and the limits tell nobody which of the two a name is.
func TestNoAnswerIsAGuess(t *testing.T) {
	for _, answer := range []error{nil, account.ErrElsewhere, context.Canceled} {
		for _, name := range []string{"nobody", "alice"} {
			w, e := newElsewhere(t)
			e.said, e.err = account.Said{}, answer
			err := w.as(name, "another password")
			if err == nil || errors.Is(err, account.ErrWrong) != (answer == nil) || w.limits.returned != 0 || w.sessions.opened != 0 || len(w.users.events) != 0 || e.asked != 1 {
				t.Errorf("%s, %v: %v, given back %d times", name, answer, err, w.limits.returned)
			}
			if code, failed := login.Reason(err); answer != nil && (code != "unavailable" || failed) {
				t.Errorf("%s, %v: %s, %v", name, answer, code, failed)
			}
		}
	}
	w, e := newElsewhere(t)
	w.limits.err = errors.New("limited")
	if err := w.as("nobody", oldPassword); err == nil || e.asked != 0 {
		t.Errorf("asked before it was counted: %v", err)
	}
}
