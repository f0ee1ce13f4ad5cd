//go:build unix

package sqlstore_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// busyUser is a user who logs in all the time, from several loops, by a password and by an
// issuer.
type busyUser struct {
	id      idworker.ID
	version atomic.Int64  // of the password, as the loops believe
	began   chan struct{} // a login has begun
}

func (w *world) busyUser(t *testing.T, loops int) *busyUser {
	t.Helper()
	b := &busyUser{id: w.user(t, "ada"), began: make(chan struct{})}
	b.version.Store(1)
	issuer := w.service(t, "issuer")
	key := issuer.key(t, servicekey.Issue, servicekey.IssueAnyRole)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range loops {
		all.Go(func() {
			for ctx.Err() == nil {
				o := w.opening(b.id)
				if i%2 == 1 {
					o = issuer.issuing(b.id, key, time.Now())
				}
				o.PasswordVersion = b.version.Load()
				if _, err := w.login(ctx, o); err != nil {
					continue // disabled, or another password
				}
				select {
				case b.began <- struct{}{}:
				default:
				}
			}
		})
	}
	t.Cleanup(func() { cancel(); all.Wait() })
	return b
}

// TestNobodyHoldsUpAnOperatorByLoggingIn: what changes an account, or ends all sessions of it,
// gets through in the time that it has, whoever logs in to that account meanwhile.
func TestNobodyHoldsUpAnOperatorByLoggingIn(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		b := w.busyUser(t, 4)
		w.run(t, "UPDATE users SET role = 'admin' WHERE id = ?", int64(w.user(t, "root"))) // so that the busy user is not the last one
		role := func(to account.Role) func(context.Context) error {
			return func(ctx context.Context) error {
				_, _, _, err := w.users.Change(ctx, b.id, func(u account.User) (account.User, []audit.Event, error) {
					u.Role = to
					return u, []audit.Event{w.eventOf(audit.RoleChanged, b.id)}, nil
				})
				return err
			}
		}
		steps := []struct {
			name string
			do   func(context.Context) error
			busy bool // logins begin meanwhile
		}{
			{"disable", func(ctx context.Context) error { _, err := w.users.Disable(ctx, b.id, start); return err }, true},
			{"enable", func(ctx context.Context) error { return w.users.Enable(ctx, b.id) }, false},
			{"new role", role(account.RoleAdmin), true},
			{"old role", role(account.RoleUser), true},
			{"end all", func(ctx context.Context) error {
				_, err := w.sessions.EndUser(ctx, session.Ending{UserID: b.id, Reason: session.Revoked}, 0)
				return err
			}, true},
			{"own new password", func(ctx context.Context) error {
				_, err := w.users.ChangePassword(ctx, b.id, b.version.Load(), account.NewPHC("$next"))
				return err
			}, true},
			{"new password", func(ctx context.Context) error {
				_, err := w.users.ResetPassword(ctx, b.id, b.version.Load(), account.NewPHC("$next"), w.eventOf(audit.PasswordReset, b.id))
				return err
			}, true},
			{"no second factor", func(ctx context.Context) error {
				_, err := w.factors().RemoveAndEnd(ctx, b.id, b.version.Load(), w.eventOf(audit.SecondFactorRemoved, b.id))
				return err
			}, true},
			{"rename", func(ctx context.Context) error {
				_, err := w.names().ChangeNames(ctx, shell, b.id, renamed("grace"))
				return err
			}, true},
			{"aliases", func(ctx context.Context) error {
				_, err := w.names().ChangeNames(ctx, shell, b.id, aliases("grace@example.com"))
				return err
			}, true},
			{"delete", func(ctx context.Context) error { _, err := w.delete(ctx, b.id, "grace"); return err }, true},
		}
		for _, s := range steps {
			if s.busy {
				<-b.began
			}
			if err := s.do(t.Context()); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
			b.version.Store(w.row(t, b.id).Version)
		}
		if r := w.row(t, b.id); r.Token.Valid {
			t.Errorf("login %d lives after the user was deleted", r.Token.Int64)
		}
		w.sound(t)
	})
}
