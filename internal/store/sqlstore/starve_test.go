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

// TestNobodyHoldsUpAnOperatorByLoggingIn: what changes an account, or ends all sessions of it,
// gets through in the time that it has, whoever logs in to that account meanwhile.
func TestNobodyHoldsUpAnOperatorByLoggingIn(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		root := w.user(t, "root")
		w.run(t, "UPDATE users SET role = 'admin' WHERE id = ?", int64(root))
		w.holdUp(t, "ada", root)
		w.allow(t, 2, 2)
		w.holdUp(t, "grace", root)
		w.sound(t)
	})
}

// A busyUser logs in all the time, from several loops, by a password and by an issuer.
type busyUser struct {
	id      idworker.ID
	name    string
	issuer  keyWorld
	key     servicekey.Key
	version atomic.Int64  // of the password, as the loops believe
	began   chan struct{} // a login has begun
}

func (w *world) busyUser(t *testing.T, name string) (_ *busyUser, stop func()) {
	t.Helper()
	const loops = 4
	b := &busyUser{id: w.user(t, name), name: name, began: make(chan struct{})}
	b.version.Store(1)
	b.issuer = w.service(t, "issuer of "+name)
	b.key = b.issuer.key(t, servicekey.Issue, servicekey.IssueAnyRole)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range loops {
		all.Go(func() {
			for ctx.Err() == nil {
				o := w.opening(b.id)
				if i%2 == 1 {
					o = b.issuer.issuing(b.id, b.key, time.Now())
				}
				o.PasswordVersion = b.version.Load()
				o.Cancels = &session.Record{ID: w.ids.next(0), By: shell, Need: audit.NeedsNothing}
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
	return b, func() { cancel(); all.Wait() }
}

// holdUp does to a busy user whatever loses to a login that begins meanwhile, or could.
func (w *world) holdUp(t *testing.T, name string, root idworker.ID) {
	t.Helper()
	admin := audit.Actor{ID: root, Session: w.begin(t, root).ID, Name: "root", Via: audit.ViaAPI}
	b, stop := w.busyUser(t, name)
	defer stop()
	event := func(action audit.Action) audit.Event {
		e := w.eventOf(action, b.id)
		e.By, e.Need = admin, audit.NeedsAdmin
		return e
	}
	change := func(action audit.Action, to func(*account.User)) func(context.Context) error {
		return func(ctx context.Context) error {
			_, _, _, err := w.users.Change(ctx, b.id, func(u account.User) (account.User, []audit.Event, error) {
				to(&u)
				return u, []audit.Event{event(action)}, nil
			})
			return err
		}
	}
	enable := func(ctx context.Context) error { return w.users.Enable(ctx, b.id) }
	steps := []struct {
		name  string
		do    func(context.Context) error
		quiet bool // no login begins meanwhile
	}{
		{"disable", func(ctx context.Context) error { _, err := w.users.Disable(ctx, b.id, start); return err }, false},
		{"enable", enable, true},
		{"disable by an admin", change(audit.UserDisabled, func(u *account.User) { u.DisabledAt = start }), false},
		{"enable once more", enable, true},
		{"new role", change(audit.RoleChanged, func(u *account.User) { u.Role = account.RoleAdmin }), false},
		{"old role", change(audit.RoleChanged, func(u *account.User) { u.Role = account.RoleUser }), false},
		{"end all", func(ctx context.Context) error {
			_, err := w.sessions.EndUser(ctx, session.Ending{UserID: b.id, Reason: session.Revoked}, 0)
			return err
		}, false},
		{"end all by an admin", func(ctx context.Context) error {
			_, err := w.sessions.EndUser(ctx, session.Ending{UserID: b.id, Reason: session.Revoked, Record: &session.Record{ID: w.ids.next(0), By: admin, Need: audit.NeedsAdmin}}, 0)
			return err
		}, false},
		{"new password", func(ctx context.Context) error {
			_, err := w.users.ResetPassword(ctx, b.id, b.version.Load(), account.NewPHC("$next"), event(audit.PasswordReset))
			return err
		}, false},
		{"no second factor", func(ctx context.Context) error {
			_, err := w.factors().RemoveAndEnd(ctx, b.id, b.version.Load(), event(audit.SecondFactorRemoved))
			return err
		}, false},
		{"one-time link", func(context.Context) error {
			_, err := w.useAt(t, w.reset(t, b.id), b.version.Load(), "$next", start)
			return err
		}, false},
		{"ask for deletion", func(ctx context.Context) error {
			_, err := w.users.AskDeletion(ctx, b.id, w.eventOf(audit.DeletionAsked, b.id))
			return err
		}, false},
		{"rename", func(ctx context.Context) error {
			_, err := w.names().ChangeNames(ctx, shell, b.id, renamed("dr."+b.name))
			return err
		}, false},
		{"aliases", func(ctx context.Context) error {
			_, err := w.names().ChangeNames(ctx, shell, b.id, aliases(b.name+"@example.com"))
			return err
		}, false},
		{"end all of everybody", func(ctx context.Context) error { _, err := w.settings().EndAll(ctx, time.Now()); return err }, false},
		{"disable the issuer", func(ctx context.Context) error { _, err := w.users.Disable(ctx, b.issuer.user, start); return err }, false},
		{"enable the issuer", func(ctx context.Context) error { return w.users.Enable(ctx, b.issuer.user) }, false},
		{"revoke the key", func(ctx context.Context) error {
			return b.issuer.keys.RevokeKey(ctx, b.key.ID, w.eventOf(audit.KeyRevoked, b.issuer.user))
		}, false},
		{"delete", func(ctx context.Context) error { _, err := w.delete(ctx, b.id, "dr."+b.name); return err }, false},
	}
	for _, s := range steps {
		if !s.quiet {
			<-b.began
		}
		if err := s.do(t.Context()); err != nil {
			t.Errorf("%s, %s: %v", b.name, s.name, err)
			if s.quiet {
				return // nobody can log in
			}
		}
		b.version.Store(w.row(t, b.id).Version)
	}
	if n := w.number(t, "SELECT COUNT(*) FROM users WHERE id = ? AND token_id IS NULL", int64(b.id)); n != 1 || w.number(t, "SELECT COUNT(*) FROM user_slots WHERE user_id = ? AND token_id IS NOT NULL", int64(b.id)) != 0 {
		t.Errorf("a login of %s lives after the deletion", b.name)
	}
}
