package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/render"
	"github.com/flakepass/flakepass/internal/server/run"
)

// pageSize is how many rows a command reads at a time.
const pageSize = 500

func (l *local) backend() backend {
	return backend{
		users: l, accounts: l, resets: l, keys: l, sessions: l, events: l, policies: l,
		command: "flakepass", within: fmt.Sprintf("within %v", l.cfg.RevocationBound),
		// Nothing is opened for a change that is none, or only asked about.
		changing: func(ctx context.Context, f func() error) error {
			ids, closeIDs, err := run.OpenEventIDs(ctx, l.cfg, l.db, l.log)
			if err != nil {
				return err
			}
			defer closeIDs()
			l.policies.IDs = ids
			return f()
		},
	}
}

// paged reads a list page by page. read has at most so many entries behind the one with
// that key; 0 is the beginning.
func paged[D, W any, K ~int64 | ~string](read func(after K, limit int) ([]D, error), key func(*D) K, one func(*D) W) iter.Seq2[W, error] {
	return func(yield func(W, error) bool) {
		for after := *new(K); ; {
			page, err := read(after, pageSize)
			if err != nil {
				var none W
				yield(none, err)
				return
			}
			for i := range page {
				if !yield(one(&page[i]), nil) {
					return
				}
				after = key(&page[i])
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}

func (l *local) find(ctx context.Context, name string) (wire.Person, error) {
	u, err := l.user(ctx, name)
	if err != nil {
		return wire.Person{}, err
	}
	p, err := l.operators.Users.Get(ctx, u.ID)
	return render.Person(&p), err
}

func (l *local) Users(ctx context.Context, prefix string) iter.Seq2[wire.User, error] {
	return paged(func(after string, limit int) ([]account.User, error) {
		return l.operators.Users.List(ctx, prefix, after, limit)
	}, func(u *account.User) string { return operator.UserCursor(prefix, u) }, render.User)
}

func (l *local) change(ctx context.Context, u wire.Person, c client.UserChange) (string, error) {
	now, ended, err := l.operators.Users.Change(ctx, commandActor(), idworker.ID(u.ID), operator.UserChange{Role: (*account.Role)(c.Role), Disabled: c.Disabled, Reason: c.Reason})
	switch {
	case !session.Done(err):
		return "", err
	case len(now.Logins) != 0:
		return "", nil // nothing had to change, and the login goes on
	case len(ended) == 0 && c.Disabled != nil && !*c.Disabled:
		return "", nil // who was disabled had none
	}
	return l.over(ended, err)
}

func (l *local) removeFactor(ctx context.Context, u wire.Person, reason string) (string, error) {
	return l.over(l.operators.Users.RemoveSecondFactor(ctx, commandActor(), idworker.ID(u.ID), reason))
}

func (l *local) add(ctx context.Context, u client.NewUser, password string) (wire.User, error) {
	closeList, err := l.refuseStolen()
	if err != nil {
		return wire.User{}, err
	}
	defer closeList()
	made, err := l.operators.Users.Create(ctx, commandActor(), u.Username, account.NewPassword(password), account.Role(u.Role), u.Reason)
	return render.User(&made), err
}

func (l *local) InviteUser(ctx context.Context, u client.NewUser, life time.Duration) (client.Invited, error) {
	made, r, err := l.operators.Users.Invite(ctx, commandActor(), u.Username, account.Role(u.Role), life, u.Reason)
	return client.Invited{User: render.User(&made), Reset: l.reset(r)}, err
}

// reset is what a person is shown of a started reset.
func (l *local) reset(r operator.StartedReset) client.PasswordReset {
	out := client.PasswordReset{Token: client.NewResetToken(r.Token.Reveal()), ExpiresAt: wire.At(r.ExpiresAt)}
	if l.cfg.PublicURL != "" {
		out.Page = l.cfg.PublicURL + "/console/password"
	}
	return out
}

func (l *local) StartPasswordReset(ctx context.Context, id wire.ID, how client.ResetHow) (client.PasswordReset, error) {
	r, err := l.operators.Users.StartReset(ctx, commandActor(), idworker.ID(id), how.Life, how.Reason)
	return l.reset(r), err
}

func (l *local) WithdrawPasswordReset(ctx context.Context, id wire.ID, reason string) error {
	return l.operators.Users.WithdrawReset(ctx, commandActor(), idworker.ID(id), reason)
}

func (l *local) PasswordResets(ctx context.Context, issuer wire.ID) iter.Seq2[wire.OpenReset, error] {
	return paged(func(before idworker.ID, limit int) ([]account.OpenReset, error) {
		return l.operators.Users.ListResets(ctx, idworker.ID(issuer), before, limit)
	}, func(r *account.OpenReset) idworker.ID { return r.ID }, render.Reset)
}

func (l *local) WithdrawIssuedPasswordResets(ctx context.Context, issuer wire.ID, reason string) (int, error) {
	return l.operators.Users.WithdrawIssued(ctx, commandActor(), idworker.ID(issuer), reason)
}

func (l *local) Audit(ctx context.Context, f client.AuditFilter) iter.Seq2[wire.Event, error] {
	filter := audit.Filter{Action: audit.Action(f.Action), Since: f.Since, Until: f.Until}
	filter.Actor, filter.ActorName, _ = operator.Party(f.Actor)
	filter.Target, filter.TargetName, _ = operator.Party(f.Target)
	return paged(func(before idworker.ID, limit int) ([]audit.Event, error) {
		if f.Action != "" && !audit.IsAction(f.Action) {
			return nil, errors.New("--action must be the name of an action, such as policy.changed; docs/logging.md has all")
		}
		filter.Before, filter.Limit = before, limit
		return run.EventsOf(l.db).List(ctx, filter)
	}, func(e *audit.Event) idworker.ID { return e.ID }, render.Event)
}

func (l *local) Sessions(ctx context.Context, deviceClass string) iter.Seq2[wire.UserSession, error] {
	return func(yield func(wire.UserSession, error) bool) {
		for before := idworker.ID(0); ; {
			page, err := l.operators.Sessions.List(ctx, deviceClass, before, pageSize)
			if err != nil {
				yield(wire.UserSession{}, err)
				return
			}
			for i := range page.Logins {
				if !yield(render.Session(&page.Logins[i]), nil) {
					return
				}
			}
			if before = page.Next; before == 0 {
				return
			}
		}
	}
}

func (l *local) end(ctx context.Context, id wire.ID, reason string) (string, error) {
	ended, err := l.operators.Sessions.End(ctx, commandActor(), idworker.ID(id), reason)
	return l.over([]session.Session{ended}, err)
}

func (l *local) logout(ctx context.Context, u wire.Person, how client.LogoutHow) (string, error) {
	return l.over(l.operators.Users.Logout(ctx, commandActor(), idworker.ID(u.ID), how.DeviceClass, how.Reason))
}

// over says which logins have ended, and by when every instance knows. err is what
// came of the change: that it was done and no instance could be informed is no failure.
func (l *local) over(ended []session.Session, err error) (string, error) {
	if !session.Done(err) {
		return "", err
	}
	within := fmt.Sprintf("on every instance as soon as the message arrives, within %v at the latest", l.cfg.RevocationBound)
	if err != nil || !l.publishes {
		within = fmt.Sprintf("within %v on every instance", l.cfg.RevocationBound)
	}
	var now, before []wire.ID
	for i := range ended {
		to := &now
		if ended[i].Before {
			to = &before
		}
		*to = append(*to, wire.ID(ended[i].ID))
	}
	switch {
	case len(ended) == 0:
		return "there was no login to end", nil
	case len(now) > 0:
		return loginsEnded(now, within), nil
	case len(before) == 1:
		return fmt.Sprintf("login %s was over before: %s", before[0], ended[0].Ended), nil
	}
	return fmt.Sprintf("%d logins were over before: %s", len(before), listed(before)), nil
}

func (l *local) CreateServiceKey(ctx context.Context, user wire.ID, k client.NewServiceKey) (client.MadeServiceKey, error) {
	made, err := l.operators.Users.CreateKey(ctx, commandActor(), idworker.ID(user), operator.NewKey(k))
	return client.MadeServiceKey{Key: made.Secret, ServiceKey: render.ServiceKey(&made.Key)}, err
}

func (l *local) ServiceKeys(ctx context.Context, user wire.ID) iter.Seq2[wire.ServiceKey, error] {
	return paged(func(before idworker.ID, limit int) ([]servicekey.Key, error) {
		return l.operators.Users.ListKeys(ctx, idworker.ID(user), before, limit)
	}, func(k *servicekey.Key) idworker.ID { return k.ID }, render.ServiceKey)
}

func (l *local) RevokeServiceKey(ctx context.Context, id wire.ID, reason string) (time.Duration, error) {
	_, err := l.operators.Users.RevokeKey(ctx, commandActor(), idworker.ID(id), reason)
	return l.cfg.RevocationBound, err
}
