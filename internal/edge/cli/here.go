package cli

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/server/run"
)

// pageSize is how many rows a command reads at a time.
const pageSize = 500

// place is this database.
func (o *office) place() place {
	p := run.PoliciesOf(o.db, nil, nil, o.log)
	return place{
		users: o, adding: o, resets: resetsHere{o}, sessions: sessionsHere{o}, events: o, command: "flakepass",
		policies: policyPlace{
			policyVerbs: p, command: "flakepass", within: fmt.Sprintf("within %v", o.cfg.RevocationBound),
			// Nothing is opened for a change that is none, or only asked about.
			making: func(ctx context.Context, f func() error) error {
				return o.withIDs(ctx, func(ids audit.IDs) error {
					p.IDs = ids
					return f()
				})
			},
		},
	}
}

var (
	_ userVerbs   = (*office)(nil)
	_ addingVerbs = (*office)(nil)
	_ eventVerbs  = (*office)(nil)
)

func (o *office) find(ctx context.Context, name string) (person, error) {
	u, err := o.user(ctx, name)
	return person{id: u.ID, name: u.Username, hasFactor: u.HasSecondFactor()}, err
}

func (o *office) list(ctx context.Context) ([]userLine, error) {
	lines := []userLine{}
	for after := idworker.ID(0); ; {
		users, err := o.known.List(ctx, after, pageSize)
		if err != nil {
			return nil, err
		}
		for _, u := range users {
			lines = append(lines, userLineOf(u.ID, u.Username, u.Role, u.HasSecondFactor(), u.CreatedAt, u.DisabledAt))
			after = u.ID
		}
		if len(users) < pageSize {
			return lines, nil
		}
	}
}

func (o *office) change(ctx context.Context, u person, c operator.UserChange) (string, error) {
	now, ended, err := o.Users.Change(ctx, commandActor(), u.id, c)
	switch {
	case !session.Done(err):
		return "", err
	case now.Login.ID != 0:
		return "", nil // nothing had to change, and the login goes on
	case ended.ID == 0 && c.Disabled != nil && !*c.Disabled:
		return "", nil // whoever was disabled had none
	}
	return o.over(ended, err)
}

func (o *office) removeFactor(ctx context.Context, u person, reason string) (string, error) {
	return o.over(o.Users.RemoveSecondFactor(ctx, commandActor(), u.id, reason))
}

func (o *office) add(ctx context.Context, c userAdd, password string) (account.User, error) {
	closeList, err := o.refuseStolen()
	if err != nil {
		return account.User{}, err
	}
	defer closeList()
	return o.Users.Create(ctx, commandActor(), c.Name, account.NewPassword(password), account.Role(c.Role), c.Reason)
}

func (o *office) invite(ctx context.Context, c userAdd) (account.User, shownReset, error) {
	u, r, err := o.Users.Invite(ctx, commandActor(), c.Name, account.Role(c.Role), c.For, c.Reason)
	return u, resetOf(o.cfg, r), err
}

func (o *office) search(ctx context.Context, c auditCommand, limit int) iter.Seq2[*audit.Event, error] {
	f := audit.Filter{Action: audit.Action(c.Action), Since: c.Since.time(time.Now()), Until: c.Until.time(time.Now())}
	f.Actor, f.ActorName = operator.Party(c.Actor)
	f.Target, f.TargetName = operator.Party(c.Target)
	return func(yield func(*audit.Event, error) bool) {
		for left := limit; limit == 0 || left > 0; {
			f.Limit = pageSize
			if limit > 0 {
				f.Limit = min(pageSize, left)
			}
			events, err := run.EventsOf(o.db).List(ctx, f)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range events {
				if !yield(&events[i], nil) {
					return
				}
				f.Before = events[i].ID
			}
			if left -= len(events); len(events) < f.Limit {
				return
			}
		}
	}
}

type resetsHere struct{ *office }

func (r resetsHere) start(ctx context.Context, u person, life time.Duration, reason string) (shownReset, error) {
	started, err := r.Users.StartReset(ctx, commandActor(), u.id, life, reason)
	return resetOf(r.cfg, started), err
}

func (r resetsHere) withdraw(ctx context.Context, u person, reason string) error {
	return r.Users.WithdrawReset(ctx, commandActor(), u.id, reason)
}

func (r resetsHere) open(ctx context.Context, issuer person) ([]linkLine, error) {
	lines := []linkLine{}
	for before := idworker.ID(0); ; {
		open, err := r.Users.ListResets(ctx, issuer.id, before, pageSize)
		if err != nil {
			return nil, err
		}
		for _, l := range open {
			lines = append(lines, linkLineOf(l.ID, l.UserID, l.Username, l.Issuer.ID, l.Issuer.Name, l.ExpiresAt))
			before = l.ID
		}
		if len(open) < pageSize {
			return lines, nil
		}
	}
}

func (r resetsHere) withdrawIssued(ctx context.Context, issuer person, reason string) (int, error) {
	return r.Users.WithdrawIssued(ctx, commandActor(), issuer.id, reason)
}

type sessionsHere struct{ *office }

func (s sessionsHere) living(ctx context.Context, user string, limit int) ([]sessionLine, error) {
	lines := []sessionLine{}
	add := func(l *operator.Login) {
		lines = append(lines, sessionLineOf(l.ID, l.UserID, l.Username, l.Role, l.IssuedAt, l.Seen, l.ExpiresAt, l.IdleExpiresAt))
	}
	if user != "" {
		u, err := s.find(ctx, user)
		if err != nil {
			return nil, err
		}
		found, err := s.Users.Get(ctx, u.id)
		if err == nil && found.Login.ID != 0 {
			add(&found.Login)
		}
		return lines, err
	}
	for before := idworker.ID(0); len(lines) < limit; {
		page, err := s.Sessions.List(ctx, before, min(limit-len(lines), pageSize))
		if err != nil {
			return nil, err
		}
		for i := range page.Logins {
			add(&page.Logins[i])
		}
		if before = page.Next; before == 0 {
			break
		}
	}
	return lines, nil
}

func (s sessionsHere) end(ctx context.Context, id idworker.ID, reason string) (string, error) {
	return s.over(s.Sessions.End(ctx, commandActor(), id, reason))
}

// over says which login has ended, and by when every instance knows. err is what
// came of the change: that it was done and nobody could be told is no failure.
func (o *office) over(ended session.Session, err error) (string, error) {
	if !session.Done(err) {
		return "", err
	}
	within := fmt.Sprintf("on every instance as soon as it hears of it, within %v at the latest", o.cfg.RevocationBound)
	if err != nil || !o.tells {
		within = fmt.Sprintf("within %v on every instance", o.cfg.RevocationBound)
	}
	switch {
	case ended.ID == 0:
		return "there was no login to end", nil
	case ended.Before:
		return fmt.Sprintf("login %s was over before: %s", ended.ID, ended.Ended), nil
	}
	return fmt.Sprintf("login %s ended, %s", ended.ID, within), nil
}
