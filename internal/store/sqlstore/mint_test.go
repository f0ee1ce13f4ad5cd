//go:build unix

package sqlstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// While an ID is minted for a login, its user stays as it was checked: neither
// a change of the password, nor disabling, nor another login gets between.
func TestNothingHappensToAUserWhileAnIDIsMinted(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for name, meanwhile := range map[string]func(context.Context, idworker.ID) error{
			"password": func(ctx context.Context, user idworker.ID) error {
				_, err := w.users.ChangePassword(ctx, user, 1, account.NewPHC("$second"))
				return err
			},
			"disable": func(ctx context.Context, user idworker.ID) error {
				_, err := w.users.Disable(ctx, user, start)
				return err
			},
			"login": func(ctx context.Context, user idworker.ID) error {
				_, err := w.sessions.Begin(ctx, w.opening(user))
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				user := w.user(t, name)
				o, calls := w.opening(user), 0
				var other sync.WaitGroup
				o.Mint = func(ctx context.Context, above idworker.ID) (idworker.ID, session.Hash, error) {
					if calls++; calls > 1 {
						return w.ids.mint(ctx, above)
					}
					before := w.row(t, user)
					other.Go(func() {
						if err := meanwhile(t.Context(), user); err != nil {
							t.Errorf("meanwhile: %v", err)
						}
					})
					// The other one has every chance to come first.
					for until := time.Now().Add(150 * time.Millisecond); time.Now().Before(until); {
						if now := w.row(t, user); now.Version != before.Version || now.DisabledAt != before.DisabledAt || now.Token != before.Token {
							t.Fatal("the user changed while an ID was minted")
						}
					}
					return w.ids.mint(ctx, above)
				}
				begun, err := w.sessions.Begin(t.Context(), o)
				other.Wait()
				if err != nil {
					t.Fatal(err)
				}
				if calls != 1 {
					t.Errorf("the login had to begin %d times; the two lock in different orders", calls)
				}
				if got, err := w.sessions.Get(t.Context(), begun.Session.ID); err != nil || got.Alive() {
					t.Errorf("what came after the login did not end it: %v, %v", got.Ended, err)
				}
			})
		}
		w.sound(t)
	})
}

// Two workers that were given one number by mistake mint the same ID. The
// second login gets another.
func TestDuplicateIDIsMintedAnew(t *testing.T) {
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
				o, calls := w.opening(two), 0
				o.Mint = func(ctx context.Context, above idworker.ID) (idworker.ID, session.Hash, error) {
					if calls++; calls < 3 {
						return first.ID, hashOf(first.ID), nil
					}
					return w.ids.mint(ctx, above)
				}
				begun, err := w.sessions.Begin(t.Context(), o)
				if err != nil || begun.Session.ID == first.ID {
					t.Fatalf("%v after %d tries with ID %d, which %d has or had", err, calls, begun.Session.ID, one)
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
			o := w.opening(user)
			o.Mint = behind.mint
			begun, err := w.sessions.Begin(t.Context(), o)
			if err != nil || begun.Session.ID <= last.ID {
				t.Errorf("%s: %d after %d, %v", name, begun.Session.ID, last.ID, err)
			}
			last = begun.Session
		}
		w.sound(t)
	})
}
