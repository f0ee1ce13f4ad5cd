//go:build unix

package sqlstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
)

func TestEndKeepsTheFirstReason(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		ended, err := w.sessions.End(t.Context(), logout(s))
		if err != nil || ended.Ended != session.LoggedOut || ended.ID != s.ID || ended.Hash != s.Hash || ended.UserID != user {
			t.Fatalf("End: %+v, %v", ended, err)
		}
		before := w.row(t, user)
		again, err := w.sessions.End(t.Context(), session.Ending{ID: s.ID, Hash: s.Hash, Reason: session.Revoked})
		if err != nil || again.Ended != session.LoggedOut || again.ID != s.ID {
			t.Errorf("End again: %q, %v; want the first reason", again.Ended, err)
		}
		if _, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: user, Reason: session.Revoked}, 0); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("End of a user without a login: %v, want ErrNotFound", err)
		}
		if diff := cmp.Diff(w.row(t, user), before); diff != "" {
			t.Errorf("ending what had ended changed the row:\n%s", diff)
		}
		if r := before; r.Floor != int64(s.ID) || r.Token.Valid || r.Ended.Int64 != int64(s.ID) || string(r.EndedHash) != string(s.Hash[:]) {
			t.Errorf("after logout: %+v", r)
		}
	})
}

// The floor's time is the database's, in Unix milliseconds whatever the zone.
func TestFloorIsStampedByTheDatabase(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		if at := w.row(t, user).FloorAt; at != 0 {
			t.Errorf("before any ending, the floor has the time %d", at)
		}
		before := time.Now().UnixMilli()
		if _, err := w.sessions.End(t.Context(), logout(s)); err != nil {
			t.Fatal(err)
		}
		if at, after := w.row(t, user).FloorAt, time.Now().UnixMilli(); at < before || at > after {
			t.Errorf("the floor rose at %d, want between %d and %d", at, before, after)
		}
	})
}

func TestWrongHashEndsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		wrong := logout(s)
		wrong.Hash[32]++
		for _, state := range []string{"alive", "ended"} {
			before := w.row(t, user)
			if got, err := w.sessions.End(t.Context(), wrong); !errors.Is(err, session.ErrNotFound) || got.ID != 0 {
				t.Errorf("%s: End with another hash: %+v, %v; want ErrNotFound and nothing", state, got, err)
			}
			if diff := cmp.Diff(w.row(t, user), before); diff != "" {
				t.Errorf("%s: End with another hash changed the row:\n%s", state, diff)
			}
			if _, err := w.sessions.End(t.Context(), logout(s)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestEndOfTheUnknown(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		for name, e := range map[string]session.Ending{
			"an ID":    {ID: 12345, Reason: session.LoggedOut},
			"a user":   {UserID: 12345, Reason: session.Revoked},
			"never in": {UserID: user, Reason: session.Revoked},
		} {
			if got, err := w.endAny(t, e); !errors.Is(err, session.ErrNotFound) || got.ID != 0 {
				t.Errorf("End of %s: %+v, %v; want ErrNotFound", name, got, err)
			}
		}
		if _, err := w.sessions.End(t.Context(), session.Ending{UserID: user, Reason: session.Revoked}); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("End of nothing: %v, want ErrNotFound", err)
		}
		s := w.begin(t, user)
		e := logout(s)
		e.Reason = ""
		if _, err := w.sessions.End(t.Context(), e); err == nil {
			t.Error("End without a reason: no error; what it ended would look alive")
		}
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || !got.Alive() {
			t.Errorf("End without a reason: %+v, %v", got, err)
		}
	})
}

// A row that an older program or a person wrote has ended all the same.
func TestEndingWithoutAReasonIsNotAlive(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		if _, err := w.sessions.End(t.Context(), logout(s)); err != nil {
			t.Fatal(err)
		}
		w.exec(t, "UPDATE users SET ended_reason = '' WHERE id = ?", int64(user))
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || got.Alive() {
			t.Errorf("Get: alive, or %v", err)
		}
	})
}

func TestChangesOfAccountEndTheLogin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		ended, err := w.newPassword(t.Context(), user, 1, "$second")
		if err != nil || len(ended) != 1 || ended[0].ID != s.ID || ended[0].Hash != s.Hash || ended[0].Ended != session.PasswordChanged {
			t.Fatalf("a new password: %+v, %v", ended, err)
		}
		before := w.row(t, user)
		if _, err := w.newPassword(t.Context(), user, 1, "$third"); !errors.Is(err, account.ErrStale) {
			t.Errorf("a new password of an old version: %v, want ErrStale", err)
		}
		if _, err := w.login(t.Context(), w.opening(user)); !errors.Is(err, account.ErrStale) {
			t.Errorf("Begin with the old password: %v, want ErrStale", err)
		}
		if diff := cmp.Diff(w.row(t, user), before); diff != "" {
			t.Errorf("what was refused changed the row:\n%s", diff)
		}
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || got.Ended != session.PasswordChanged {
			t.Errorf("Get: %q, %v", got.Ended, err)
		}
	})
}

func TestEnableDoesNotRevive(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		if ended, err := w.users.Disable(t.Context(), user, start); err != nil || ended.ID != s.ID || ended.Ended != session.Disabled {
			t.Fatalf("Disable: %+v, %v", ended, err)
		}
		if ended, err := w.users.Disable(t.Context(), user, start.Add(time.Hour)); err != nil || ended.ID != s.ID || !ended.Before {
			t.Errorf("Disable again: %+v, %v; want the session that had ended", ended, err)
		}
		if at := w.row(t, user).DisabledAt.Int64; at != start.UnixMilli() {
			t.Errorf("disabled at %d, want the first time, %d", at, start.UnixMilli())
		}
		before := w.row(t, user)
		if _, err := w.login(t.Context(), w.opening(user)); !errors.Is(err, account.ErrDisabled) {
			t.Errorf("Begin while disabled: %v, want ErrDisabled", err)
		}
		if diff := cmp.Diff(w.row(t, user), before); diff != "" {
			t.Errorf("a refused login changed the row:\n%s", diff)
		}
		if err := w.users.Enable(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || got.Ended != session.Disabled {
			t.Errorf("after Enable, the old login: %q, %v", got.Ended, err)
		}
		if newer := w.begin(t, user); newer.ID <= s.ID {
			t.Errorf("the new login %d is not after %d", newer.ID, s.ID)
		}
	})
}

// A login that is alive on a row that was disabled by hand, without the
// statement that ends it, is refused, and enabling the user ends it.
func TestDisabledByHand(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		w.exec(t, "UPDATE users SET disabled_at = 1 WHERE id = ?", int64(user))
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || got.Ended != session.Disabled {
			t.Errorf("disabled by hand: %q, %v", got.Ended, err)
		}
		if err := w.users.Enable(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || got.Alive() {
			t.Errorf("enabled: alive, or %v", err)
		}
	})
}

func TestEnableLeavesALoginOfTheEnabledAlone(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		if err := w.users.Enable(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || !got.Alive() {
			t.Errorf("enabling who is enabled ended the login: %q, %v", got.Ended, err)
		}
	})
}

func TestChangesOfNobody(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		_, begin := w.login(t.Context(), w.opening(12345))
		_, change := w.newPassword(t.Context(), 12345, 1, "$")
		_, disable := w.users.Disable(t.Context(), 12345, start)
		for name, err := range map[string]error{
			"Begin": begin, "a new password": change, "Disable": disable, "Enable": w.users.Enable(t.Context(), 12345),
		} {
			if !errors.Is(err, account.ErrNotFound) {
				t.Errorf("%s: %v, want ErrNotFound", name, err)
			}
		}
		if err := w.users.Rehash(t.Context(), 12345, 1, account.NewPHC("$")); err != nil {
			t.Errorf("Rehash of nobody: %v, want nil", err)
		}
	})
}
