//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// From when a login is checked until it is committed, its user stays as it was:
// neither a change of the password, nor disabling, nor another login gets between.
func TestNothingHappensToAUserWhileALoginBegins(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for name, meanwhile := range map[string]func(context.Context, idworker.ID) error{
			"password": func(ctx context.Context, user idworker.ID) error {
				_, err := w.newPassword(ctx, user, 1, "$second")
				return err
			},
			"disable": func(ctx context.Context, user idworker.ID) error {
				_, err := w.users.Disable(ctx, user, start)
				return err
			},
			"login": func(ctx context.Context, user idworker.ID) error {
				_, err := w.login(ctx, w.opening(user))
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				user := w.user(t, name)
				var other sync.WaitGroup
				before, calls := w.row(t, user), 0
				undo := w.afterCheck(t, func() {
					if calls++; calls > 1 {
						return
					}
					other.Go(func() {
						if err := meanwhile(t.Context(), user); err != nil {
							t.Errorf("meanwhile: %v", err)
						}
					})
					// The other one has every chance to come first.
					for until := time.Now().Add(150 * time.Millisecond); time.Now().Before(until); {
						if now := w.row(t, user); now.Version != before.Version || now.DisabledAt != before.DisabledAt || now.Token != before.Token {
							t.Error("the user changed while a login began")
							return
						}
					}
				})
				begun, err := w.login(t.Context(), w.opening(user))
				other.Wait()
				undo()
				if err != nil {
					t.Fatal(err)
				}
				if got, err := w.sessions.Get(t.Context(), begun.Session.ID, session.Hash{}); err != nil || got.Alive() {
					t.Errorf("what came after the login did not end it: %v, %v", got.Ended, err)
				}
			})
		}
		w.sound(t)
	})
}

// afterCheck calls f in each transaction of a login, once its user was checked.
func (w *world) afterCheck(t *testing.T, f func()) (undo func()) {
	t.Helper()
	row := w.Gorm().Callback().Row()
	err := row.After("gorm:row").Register("after check", func(db *gorm.DB) {
		// What a login reads after the row.
		if sent := db.Statement.SQL.String(); sent == sqlstore.GlobalFloor || strings.Contains(sent, "LEFT JOIN user_slots ON user_id") {
			f()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := row.Remove("after check"); err != nil {
			t.Error(err)
		}
	}
}

// Two workers that were given one number by mistake mint the same ID. The second
// login is refused it, and changes nothing by that.
func TestDuplicateIDIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name string
			end  bool // the login of the first is over when the second comes
		}{{"alive", false}, {"ended", true}} {
			t.Run(c.name, func(t *testing.T) {
				one, two := w.user(t, "one-"+c.name), w.user(t, "two-"+c.name)
				first := w.begin(t, one)
				if c.end {
					if _, err := w.sessions.End(t.Context(), logout(first)); err != nil {
						t.Fatal(err)
					}
				}
				o := w.opening(two)
				o.ID, o.Hash = first.ID, first.Hash
				before := w.row(t, two)
				_, err := w.sessions.Begin(t.Context(), o)
				if refused, ok := errors.AsType[*session.IDError](err); !ok || refused.Above < first.ID {
					t.Errorf("Begin with an ID that %d has or had: %v, want an IDError", one, err)
				}
				if diff := cmp.Diff(w.row(t, two), before); diff != "" {
					t.Errorf("the row changed:\n%s", diff)
				}
				begun, err := w.login(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.sessions.End(t.Context(), logout(begun.Session)); err != nil {
					t.Errorf("logout: %v", err)
				}
				w.sound(t)
			})
		}
	})
}

// A clock that is an hour behind mints above every login that the user has
// had, whether it lives, was ended, or was swept.
func TestNextIDIsAboveEveryOneBefore(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user, behind := w.user(t, "ada"), &minter{skew: -time.Hour}
		last := w.begin(t, user)
		for name, over := range map[string]func() error{
			"alive": func() error { return nil },
			"ended": func() error { _, err := w.sessions.End(t.Context(), logout(last)); return err },
			"swept": func() error {
				_, err := w.sweep(t.Context(), time.Now().Add(24*time.Hour), longAgo, 9)
				return err
			},
			"forgotten": func() error {
				_, err := w.sessions.End(t.Context(), logout(last))
				w.exec(t, "UPDATE users SET ended_token_id = NULL, ended_token_hash = NULL, ended_reason = NULL")
				return err
			},
		} {
			if err := over(); err != nil {
				t.Fatal(err)
			}
			begun, err := w.loginBy(t.Context(), behind, w.opening(user))
			if err != nil || begun.Session.ID <= last.ID {
				t.Errorf("%s: %d after %d, %v", name, begun.Session.ID, last.ID, err)
			}
			last = begun.Session
		}
		w.sound(t)
	})
}
