//go:build unix

package sqlstore_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

func (w *world) eventOf(action audit.Action, user idworker.ID) audit.Event {
	return audit.Event{
		ID: w.ids.next(0), By: audit.Actor{Name: "root", Via: audit.ViaCLI}, Action: action,
		Target: audit.Target{Kind: "user", ID: user, Name: "x"},
	}
}

// reset starts a reset for an hour.
func (w *world) reset(t testing.TB, user idworker.ID) account.Reset {
	t.Helper()
	e := w.eventOf(audit.ResetStarted, user)
	r := account.Reset{ID: e.ID, UserID: user, Hash: account.NewResetToken().Hash(), ExpiresAt: start.Add(time.Hour)}
	if err := w.users.StartReset(t.Context(), r, e); err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *world) useAt(t testing.TB, r account.Reset, version int64, hash string, now time.Time) (session.Session, error) {
	t.Helper()
	ended, err := w.users.UseReset(t.Context(), r, version, account.NewPHC(hash), now, w.eventOf(audit.ResetUsed, r.UserID))
	return sqlstore.One(ended), err
}

func (w *world) recorded(t testing.TB, action audit.Action) (n int) {
	t.Helper()
	row := w.SQL().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM audit_events WHERE action = ?", string(action))
	if err := row.Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Of fifty who use one token at the same time one sets the password, and its
// hash is the one that is kept.
func TestResetIsUsedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		login := w.begin(t, user)
		r := w.reset(t, user)
		var won atomic.Int32
		var ended [50]session.Session
		atOnce(len(ended), func(i int) {
			hash := "$" + string(rune('A'+i))
			_, err := untilInTime(t, func() (err error) { ended[i], err = w.useAt(t, r, 1, hash, start); return err })
			switch {
			case err == nil:
				won.Add(int32(i) + 1<<16)
			case !errors.Is(err, account.ErrReset):
				t.Errorf("%d: %v", i, err)
			}
		})
		n, i := won.Load()>>16, won.Load()&(1<<16-1)
		row := w.row(t, user)
		if n != 1 || row.Version != 2 || row.PasswordHash != "$"+string(rune('A'+i)) || row.Token.Valid {
			t.Fatalf("%d won, the last of them %d: version %d, hash %q, token %v", n, i, row.Version, row.PasswordHash, row.Token)
		}
		if ended[i].ID != login.ID || ended[i].Ended != session.PasswordChanged {
			t.Errorf("ended %v as %q, want %v", ended[i].ID, ended[i].Ended, login.ID)
		}
		if n := w.recorded(t, audit.ResetUsed); n != 1 {
			t.Errorf("%d events of the use", n)
		}
		w.sound(t)
	})
}

// Until it is used a reset changes nothing; then it, and whatever else changes
// the password, ends it.
func TestResetIsOverWith(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for name, end := range map[string]func(user idworker.ID, r account.Reset) error{
			"time": nil,
			"a change of password": func(user idworker.ID, _ account.Reset) error {
				_, err := w.newPassword(t.Context(), user, 1, "$changed")
				return err
			},
			"a second factor": func(user idworker.ID, _ account.Reset) error {
				f := &sqlstore.SecondFactors{DB: w.DB}
				_, err := f.Begin(t.Context(), shell, user, []byte("sealed"))
				if err == nil {
					_, err = f.Confirm(t.Context(), user, []byte("sealed"), secondfactor.Factor{At: start}, w.eventOf(audit.SecondFactorEnrolled, user))
				}
				return err
			},
			"another reset": func(user idworker.ID, _ account.Reset) error {
				w.reset(t, user)
				return nil
			},
			"a withdrawal": func(user idworker.ID, _ account.Reset) error {
				return w.users.WithdrawReset(t.Context(), user, start, w.eventOf(audit.ResetWithdrawn, user))
			},
			"its use": func(_ idworker.ID, r account.Reset) error {
				_, err := w.useAt(t, r, 1, "$used", start)
				return err
			},
		} {
			user := w.user(t, "ada "+name)
			login, r, now := w.begin(t, user), w.reset(t, user), start
			if u, _, err := w.users.ByReset(t.Context(), r.Hash, start.Add(time.Hour-1)); err != nil || u.ID != user || u.PasswordVersion != 1 || u.PasswordHash.IsZero() {
				t.Fatalf("%s: before: %+v, %v", name, u, err)
			}
			if got, err := w.sessions.Get(t.Context(), login.ID, session.Hash{}); err != nil || !got.Alive() {
				t.Errorf("%s: the login is over before the reset is used: %v", name, err)
			}
			if end == nil {
				now = start.Add(time.Hour)
			} else if err := end(user, r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, _, err := w.users.ByReset(t.Context(), r.Hash, now); !errors.Is(err, account.ErrReset) {
				t.Errorf("after %s: ByReset: %v, want ErrReset", name, err)
			}
			before := w.row(t, user)
			for version := range int64(4) {
				if _, err := w.useAt(t, r, version, "$again", now); !errors.Is(err, account.ErrReset) {
					t.Errorf("after %s: UseReset of version %d: %v, want ErrReset", name, version, err)
				}
			}
			if after := w.row(t, user); after.PasswordHash != before.PasswordHash || after.Version != before.Version {
				t.Errorf("after %s: the password is %q, was %q", name, after.PasswordHash, before.PasswordHash)
			}
		}
	})
}

// A disabled account is not opened by a reset, which is good again once the
// account is.
func TestResetDoesNotEnable(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		if _, err := w.users.Disable(t.Context(), user, start); err != nil {
			t.Fatal(err)
		}
		r := w.reset(t, user)
		if u, _, err := w.users.ByReset(t.Context(), r.Hash, start); err != nil || !u.Disabled() {
			t.Errorf("ByReset: %v, %v", u.Disabled(), err)
		}
		if _, err := w.useAt(t, r, 1, "$second", start); !errors.Is(err, account.ErrDisabled) {
			t.Errorf("UseReset: %v, want ErrDisabled", err)
		}
		if row := w.row(t, user); row.Version != 1 || !row.DisabledAt.Valid || w.recorded(t, audit.ResetUsed) != 0 {
			t.Errorf("version %d, disabled %v", row.Version, row.DisabledAt)
		}
		if _, err := w.SQL().ExecContext(t.Context(), "UPDATE users SET disabled_at = NULL WHERE id = ?", int64(user)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.useAt(t, r, 1, "$second", start); err != nil {
			t.Errorf("once enabled: %v", err)
		}
	})
}

// A use and a withdrawal, a new start, or a change of password at the same time:
// one of the two is first, and the password is that of whoever was told so.
func TestResetVsOthers(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for round := range 12 {
			user := w.user(t, "ada"+string(rune('a'+round)))
			r := w.reset(t, user)
			var used, other error
			atOnce(2, func(i int) {
				if i == 0 {
					_, used = w.useAt(t, r, 1, "$reset", start)
					return
				}
				switch round % 3 {
				case 0:
					other = w.users.WithdrawReset(t.Context(), user, start, w.eventOf(audit.ResetWithdrawn, user))
				case 1:
					other = w.users.StartReset(t.Context(), account.Reset{UserID: user, Hash: account.NewResetToken().Hash(), ExpiresAt: start.Add(time.Hour)},
						w.eventOf(audit.ResetStarted, user))
				case 2:
					_, other = w.newPassword(t.Context(), user, 1, "$changed")
				}
			})
			row := w.row(t, user)
			changed := round%3 == 2 && other == nil
			switch {
			case used != nil && !errors.Is(used, account.ErrReset), other != nil && !errors.Is(other, account.ErrStale):
				t.Errorf("%d: %v, %v", round, used, other)
			case used == nil && changed:
				t.Errorf("%d: both have changed the password", round)
			case (used == nil) != (row.PasswordHash == "$reset"), changed != (row.PasswordHash == "$changed"):
				t.Errorf("%d: %v, %v, and the hash is %q", round, used, other, row.PasswordHash)
			}
		}
		w.sound(t)
	})
}

// Each change has its event, and none is recorded that was none.
func TestResetsAreRecorded(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		w.reset(t, user)
		w.reset(t, user)
		for range 2 { // the second finds none
			if err := w.users.WithdrawReset(t.Context(), user, start, w.eventOf(audit.ResetWithdrawn, user)); err != nil {
				t.Fatal(err)
			}
		}
		if s, d := w.recorded(t, audit.ResetStarted), w.recorded(t, audit.ResetWithdrawn); s != 2 || d != 1 {
			t.Errorf("%d started, %d withdrawn; want 2 and 1", s, d)
		}
		nobody := account.Reset{UserID: 999, Hash: account.ResetHash{1}, ExpiresAt: start}
		if err := w.users.StartReset(t.Context(), nobody, w.eventOf(audit.ResetStarted, 999)); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("of nobody: %v, want ErrNotFound", err)
		}
		if n := w.recorded(t, audit.ResetStarted); n != 2 {
			t.Errorf("a reset of nobody is recorded")
		}
	})
}

// An invited user and the way in come together, or not at all.
func TestInvitedUserHasAReset(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		invite := func(name string) (account.Reset, error) {
			id := w.ids.next(0)
			r := account.Reset{UserID: id, Hash: account.NewResetToken().Hash(), ExpiresAt: start.Add(time.Hour)}
			u := account.User{ID: id, Username: name, Role: account.RoleUser, PasswordVersion: 1, CreatedAt: start, UpdatedAt: start}
			return r, w.users.CreateInvited(t.Context(), u, r, w.eventOf(audit.UserCreated, id), w.eventOf(audit.ResetStarted, id))
		}
		r, err := invite("ada")
		if err != nil {
			t.Fatal(err)
		}
		u, _, err := w.users.ByReset(t.Context(), r.Hash, start)
		if err != nil || u.Username != "ada" || !u.PasswordHash.IsZero() {
			t.Errorf("%+v, %v", u, err)
		}
		other, err := invite("ada")
		if !errors.Is(err, account.ErrExists) {
			t.Errorf("the name again: %v, want ErrExists", err)
		}
		if _, _, err := w.users.ByReset(t.Context(), other.Hash, start); !errors.Is(err, account.ErrReset) {
			t.Errorf("a reset without a user: %v", err)
		}
		if n := w.recorded(t, audit.ResetStarted); n != 1 {
			t.Errorf("%d events", n)
		}
		if _, err := w.useAt(t, r, 1, "$first", start); err != nil {
			t.Error(err)
		}
	})
}

// An admin who was invited and has no password yet cannot be the last one: nobody
// could get in when the invitation is over.
func TestInvitedAdminIsNotTheLast(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada := w.user(t, "ada")
		if _, err := w.SQL().ExecContext(t.Context(), "UPDATE users SET role = 'admin'"); err != nil {
			t.Fatal(err)
		}
		id := w.ids.next(0)
		r := account.Reset{UserID: id, Hash: account.NewResetToken().Hash(), ExpiresAt: start.Add(time.Hour)}
		grace := account.User{ID: id, Username: "grace", Role: account.RoleAdmin, PasswordVersion: 1, CreatedAt: start, UpdatedAt: start}
		if err := w.users.CreateInvited(t.Context(), grace, r, w.eventOf(audit.UserCreated, id)); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := w.users.Change(t.Context(), ada, w.become(account.RoleUser)); !errors.Is(err, account.ErrLastAdmin) {
			t.Errorf("before the invited one has a password: %v, want ErrLastAdmin", err)
		}
		if _, err := w.useAt(t, r, 1, "$first", start); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := w.users.Change(t.Context(), ada, w.become(account.RoleUser)); err != nil {
			t.Errorf("after: %v", err)
		}
	})
}
