//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// admin adds an admin.
func (w *world) admin(t testing.TB, name string) idworker.ID {
	t.Helper()
	id := w.ids.next(0)
	if err := w.users.Create(t.Context(), account.User{ID: id, Username: name, Role: account.RoleAdmin, PasswordHash: account.NewPHC("$first"), PasswordVersion: 1}); err != nil {
		t.Fatal(err)
	}
	return id
}

// become returns what makes a user that role, with its event.
func (w *world) become(role account.Role) func(account.User) (account.User, []audit.Event, error) {
	id := w.ids.next(0)
	return func(u account.User) (account.User, []audit.Event, error) {
		e := audit.Event{By: shell, ID: id, Action: audit.RoleChanged, Target: audit.Target{Kind: "user", ID: u.ID}, Old: []byte(`"` + u.Role + `"`)}
		u.Role = role
		return u, []audit.Event{e}, nil
	}
}

// disabled returns what disables a user, with its event.
func (w *world) disabled() func(account.User) (account.User, []audit.Event, error) {
	id := w.ids.next(0)
	return func(u account.User) (account.User, []audit.Event, error) {
		u.DisabledAt = start
		return u, []audit.Event{{By: shell, ID: id, Action: audit.UserDisabled, Target: audit.Target{Kind: "user", ID: u.ID}}}, nil
	}
}

func (w *world) events(t testing.TB) (actions []audit.Action) {
	t.Helper()
	list, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		actions = append(actions, e.Action)
	}
	return actions
}

func TestRoleChangeEndsTheLoginWithItsEvent(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		before, after, ended, err := w.users.Change(t.Context(), user, w.become(account.RoleService))
		if err != nil || before.Role != account.RoleUser || after.Role != account.RoleService || len(ended) != 1 || ended[0].ID != s.ID || ended[0].Hash != s.Hash || ended[0].Ended != session.Revoked {
			t.Fatalf("Change: %+v to %+v, %+v, %v", before, after, ended, err)
		}
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || got.Ended != session.Revoked {
			t.Errorf("the login after a change of role: %q, %v", got.Ended, err)
		}
		if end, ok := find(w.news(t, time.Time{}), user); !ok || end.Floor != s.ID {
			t.Errorf("the feed does not carry the end: %+v, %v", end, ok)
		}
		// A password that was checked before is checked anew.
		if _, err := w.login(t.Context(), w.opening(user)); !errors.Is(err, account.ErrStale) {
			t.Errorf("a login whose password was checked under the role of before: %v", err)
		}
		next := w.opening(user)
		next.PasswordVersion = w.row(t, user).Version
		if begun, err := w.login(t.Context(), next); err != nil || begun.Session.Role != string(account.RoleService) {
			t.Errorf("the next login has the role %q, %v", begun.Session.Role, err)
		}
		if got := w.events(t); !slices.Equal(got, []audit.Action{audit.RoleChanged}) {
			t.Errorf("events %v", got)
		}
		// The same again is no change: the login lives, and nothing is recorded.
		row := w.row(t, user)
		if _, _, ended, err := w.users.Change(t.Context(), user, w.become(account.RoleService)); err != nil || len(ended) != 1 || ended[0].ID != s.ID || !ended[0].Before {
			t.Errorf("the same again: %+v, %v; want the end of the first time", ended, err)
		}
		now := w.row(t, user)
		now.FloorAt = row.FloorAt
		if diff := cmp.Diff(now, row); diff != "" || len(w.events(t)) != 1 {
			t.Errorf("no change has changed the row, or left an event: %s", diff)
		}
	})
}

// An event that cannot be written takes the change with it, and a change that is
// refused its event.
func TestNoChangeWithoutItsEvent(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		before, all := w.row(t, user), w.settings()
		tooLong := audit.Event{By: shell, ID: w.ids.next(0), Action: audit.Action(strings.Repeat("x", 49))}
		for name, change := range map[string]func() error{
			"role": func() error {
				_, _, _, err := w.users.Change(t.Context(), user, func(u account.User) (account.User, []audit.Event, error) {
					u.Role = account.RoleAdmin
					return u, []audit.Event{{By: shell, ID: w.ids.next(0), Action: audit.RoleChanged}, tooLong}, nil
				})
				return err
			},
			"password": func() error {
				_, err := w.users.ResetPassword(t.Context(), user, 1, account.NewPHC("$"), tooLong)
				return err
			},
			"logout": func() error {
				_, err := w.sessions.End(t.Context(), session.Ending{ID: s.ID, Reason: session.Revoked, Record: &session.Record{ID: tooLong.ID, By: audit.Actor{Name: "root@host", Via: strings.Repeat("x", 99)}, Need: audit.NeedsNothing}})
				return err
			},
			"all": func() error { _, err := all.EndAll(t.Context(), time.Now(), tooLong); return err },
			"user": func() error {
				return w.users.Create(t.Context(), account.User{ID: 7, Username: "bob", Role: "user"}, tooLong)
			},
		} {
			if err := change(); err == nil {
				t.Errorf("%s: no error", name)
			}
			if diff := cmp.Diff(w.row(t, user), before); diff != "" {
				t.Errorf("%s: changed without its event:\n%s", name, diff)
			}
		}
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || !got.Alive() {
			t.Errorf("the login is %q, %v", got.Ended, err)
		}
		if _, err := w.users.ByID(t.Context(), 7); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("a user without an event: %v", err)
		}
		// The other way round.
		if _, err := w.users.ResetPassword(t.Context(), user, 9, account.NewPHC("$"), audit.Event{By: shell, ID: 1, Action: audit.PasswordReset}); !errors.Is(err, account.ErrStale) {
			t.Errorf("ResetPassword of another version: %v", err)
		}
		if err := w.users.Create(t.Context(), account.User{ID: 8, Username: "ada", Role: "user"}, audit.Event{By: shell, ID: 2}); !errors.Is(err, account.ErrExists) {
			t.Errorf("Create of a name that is taken: %v", err)
		}
		if got := w.events(t); len(got) != 0 {
			t.Errorf("events of nothing: %v", got)
		}
	})
}

// Two admins who demote or disable each other at the same moment are not both
// right, and neither is one who does it to himself.
func TestLastAdminStays(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.user(t, "nobody")
		for round := range 12 {
			a, b := w.admin(t, fmt.Sprintf("a%d", round)), w.admin(t, fmt.Sprintf("b%d", round))
			change := []func(account.User) (account.User, []audit.Event, error){w.become(account.RoleUser), w.disabled()}
			var left atomic.Int64
			atOnce(2, func(i int) {
				_, _, _, err := w.users.Change(t.Context(), []idworker.ID{a, b}[i], change[(i+round)%2])
				switch {
				case errors.Is(err, account.ErrLastAdmin):
					left.Add(1)
				case err != nil:
					t.Errorf("round %d: %v", round, err)
				}
			})
			if n := left.Load(); n != 1 {
				t.Fatalf("round %d: %d of two were told that they are the last", round, n)
			}
			for _, id := range []idworker.ID{a, b} { // whoever is left, alone
				for _, change := range change {
					u, err := w.users.ByID(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					if u.Role == account.RoleAdmin && !u.Disabled() {
						if _, _, _, err := w.users.Change(t.Context(), id, change); !errors.Is(err, account.ErrLastAdmin) {
							t.Errorf("the last admin: %v", err)
						}
					}
				}
			}
			w.exec(t, "UPDATE users SET role = 'user'")
		}
	})
}

// Change compares as it writes: what was changed meanwhile is looked at again,
// and the event tells what was there.
func TestChangeSeesWhatItChanges(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user, change, looks := w.user(t, "ada"), w.become(account.RoleAdmin), 0
		before, _, _, err := w.users.Change(t.Context(), user, func(u account.User) (account.User, []audit.Event, error) {
			if looks++; looks == 1 { // between the look and the write
				w.exec(t, "UPDATE users SET role = 'service' WHERE id = ?", int64(user))
			}
			return change(u)
		})
		if err != nil || before.Role != account.RoleService {
			t.Errorf("changed from %q, %v; it was service by then", before.Role, err)
		}
		list, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Limit: 10})
		if err != nil || len(list) != 1 || string(list[0].Old) != `"service"` {
			t.Errorf("events %+v, %v", list, err)
		}
	})
}

// What a change of role stamps late is stamped anew, also when it is asked for
// again after its answer was lost.
func TestOperatorsEndsAreStampedAnew(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, slow := range []bool{true, false} {
			w.SetLate(time.Hour)
			if slow {
				w.SetLate(0)
			}
			for name, end := range map[string]func(session.Session) error{
				"Change": func(s session.Session) error {
					_, _, _, err := w.users.Change(t.Context(), s.UserID, w.become(account.RoleService))
					return err
				},
				"ResetPassword": func(s session.Session) error {
					_, err := w.users.ResetPassword(t.Context(), s.UserID, 1, account.NewPHC("$"), audit.Event{By: shell, ID: w.ids.next(0)})
					return err
				},
				"Revoke": func(s session.Session) error {
					_, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: s.UserID, Reason: session.Revoked, Record: w.byShell()}, 0)
					return err
				},
			} {
				s := w.begin(t, w.user(t, fmt.Sprint(name, slow)))
				undo := w.afterFirstEnd(t, func(db *gorm.DB) { // as if it had been stamped long ago
					again := db.Session(&gorm.Session{NewDB: true})
					if err := again.Exec("UPDATE users SET token_floor_at = 1 WHERE id = ?", int64(s.UserID)).Error; err != nil {
						t.Error(err)
					}
				})
				if err := end(s); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				undo()
				if _, ok := find(w.news(t, time.Time{}), s.UserID); ok != slow {
					t.Errorf("%s, slow %v: news %v, want it if it was slow", name, slow, ok)
				}
				if name == "ResetPassword" {
					continue
				}
				w.exec(t, "UPDATE users SET token_floor_at = 1 WHERE id = ?", int64(s.UserID))
				w.SetLate(time.Second)
				if err := end(s); err != nil {
					t.Fatalf("%s again: %v", name, err)
				}
				if _, ok := find(w.news(t, time.Time{}), s.UserID); !ok {
					t.Errorf("%s again: no news", name)
				}
				if w.SetLate(time.Hour); slow {
					w.SetLate(0)
				}
			}
		}
	})
}

// byShell is the record of an end by the operator of a shell.
// newPassword gives a user another password, whose hash is that text.
func (w *world) newPassword(ctx context.Context, user idworker.ID, version int64, hash string) ([]session.Session, error) {
	return w.users.ResetPassword(ctx, user, version, account.NewPHC(hash), audit.Event{By: shell, ID: w.ids.next(0), Action: audit.PasswordReset})
}

func (w *world) byShell() *session.Record { return &session.Record{ID: w.ids.next(0), By: shell} }

func TestRevokeNeedsNoToken(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user, other := w.user(t, "ada"), w.user(t, "bob")
		s, stays := w.begin(t, user), w.begin(t, other)
		for i, e := range []session.Ending{{ID: s.ID}, {ID: s.ID}, {UserID: user}} {
			e.Reason, e.Record = session.Revoked, w.byShell()
			ended, err := w.endAny(t, e)
			if err != nil || ended.ID != s.ID || ended.Ended != session.Revoked || ended.Before != (i > 0) || ended.Hash != s.Hash {
				t.Errorf("%d: %+v, %v", i, ended, err)
			}
		}
		for _, e := range []session.Ending{{ID: 12345}, {UserID: 12345}, {UserID: w.user(t, "new")}} {
			e.Reason, e.Record = session.Revoked, w.byShell()
			if _, err := w.endAny(t, e); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("%+v: %v, want ErrNotFound", e, err)
			}
		}
		if got := w.events(t); !slices.Equal(got, []audit.Action{audit.LoginEnded}) {
			t.Errorf("events %v, want one", got)
		}
		if got, err := w.sessions.Get(t.Context(), stays.ID, session.Hash{}); err != nil || !got.Alive() {
			t.Errorf("another's login: %q, %v", got.Ended, err)
		}
	})
}
