package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// place is that server.
func (s counter) place() place {
	return place{
		users: s, adding: s, resets: resetsThere{s}, sessions: sessionsThere{s}, events: s, command: "flakepass remote",
		policies: policyPlace{
			policyVerbs: remotePolicies{s.Client}, command: "flakepass remote", within: "within the revocation bound of the server",
			making: func(_ context.Context, f func() error) error { return f() },
		},
	}
}

var (
	_ userVerbs   = counter{}
	_ addingVerbs = counter{}
	_ eventVerbs  = counter{}
)

// as is err, or want if the server said it with that code: commands know the errors of
// the domain.
func as(err error, code apiclient.Code, want error) error {
	if errors.Is(err, code) {
		return want
	}
	return err
}

func (s counter) find(ctx context.Context, name string) (person, error) {
	u, err := s.user(ctx, name)
	p := person{id: idworker.ID(u.ID), name: u.Username, hasFactor: u.HasFactor}
	if u.Session != nil {
		p.login = idworker.ID(u.Session.ID)
	}
	return p, err
}

func (s counter) list(ctx context.Context) ([]userLine, error) {
	lines := []userLine{}
	for u, err := range s.Users(ctx, "") {
		if err != nil {
			return nil, err
		}
		lines = append(lines, userLineOf(idworker.ID(u.ID), u.Username, account.Role(u.Role), u.HasFactor, u.CreatedAt, u.DisabledAt))
	}
	slices.Reverse(lines) // the server lists the newest first
	return lines, nil
}

func (s counter) change(ctx context.Context, u person, c operator.UserChange) (string, error) {
	made, err := s.ChangeUser(ctx, flakepass.ID(u.id), apiclient.UserChange{Role: (*string)(c.Role), Disabled: c.Disabled, Reason: c.Reason})
	if err != nil {
		return "", as(err, apiclient.LastAdmin, account.ErrLastAdmin)
	}
	if made.Person != nil && made.Person.Session != nil || u.login == 0 && c.Disabled != nil && !*c.Disabled {
		return "", nil // nothing had to change, and the login goes on; or whoever was disabled had none
	}
	return overThere(u.login, made.Within), nil
}

func (s counter) removeFactor(ctx context.Context, u person, reason string) (string, error) {
	within, err := s.RemoveUsersSecondFactor(ctx, flakepass.ID(u.id), reason)
	return "a login, if there was one, has ended " + everywhere(within), err
}

func (s counter) add(ctx context.Context, c userAdd, password string) (account.User, error) {
	u, err := s.CreateUser(ctx, apiclient.NewUser{Username: c.Name, Password: apiclient.NewPassword(password), Role: c.Role, Reason: c.Reason})
	return account.User{Username: u.Username, Role: account.Role(u.Role)}, as(err, apiclient.UsernameTaken, account.ErrExists)
}

func (s counter) invite(ctx context.Context, c userAdd) (account.User, shownReset, error) {
	i, err := s.InviteUser(ctx, apiclient.NewUser{Username: c.Name, Role: c.Role, Reason: c.Reason}, c.For)
	return account.User{Username: i.User.Username, Role: account.Role(i.User.Role)}, resetThere(i.Reset), as(err, apiclient.UsernameTaken, account.ErrExists)
}

func (s counter) search(ctx context.Context, c auditCommand, limit int) iter.Seq2[*audit.Event, error] {
	now := time.Now()
	f := apiclient.AuditFilter{Action: c.Action, Actor: c.Actor, Target: c.Target, Since: c.Since.time(now), Until: c.Until.time(now)}
	return func(yield func(*audit.Event, error) bool) {
		left := limit
		for e, err := range s.Audit(ctx, f) {
			if !yield(farEvent(e), err) || err != nil {
				return
			}
			if left--; left == 0 {
				return
			}
		}
	}
}

// farEvent is an event as the server has it. Its ID says when it was made, there as
// here.
func farEvent(e apiclient.AuditEvent) *audit.Event {
	return &audit.Event{
		ID: idworker.ID(e.ID), Action: audit.Action(e.Action), Target: audit.Target{Kind: e.Target.Kind, ID: idworker.ID(e.Target.ID), Name: e.Target.Name}, Reason: e.Reason,
		By:  audit.Actor{ID: idworker.ID(e.Actor.ID), Name: e.Actor.Name, Via: e.Via, RequestID: e.RequestID, Address: e.Address},
		Old: e.Old, New: e.New,
	}
}

type resetsThere struct{ counter }

func resetThere(r apiclient.PasswordReset) shownReset {
	return shownReset{r.Token.Reveal(), r.URL(), r.ExpiresAt}
}

func (r resetsThere) start(ctx context.Context, u person, life time.Duration, reason string) (shownReset, error) {
	started, err := r.StartPasswordReset(ctx, flakepass.ID(u.id), apiclient.ResetHow{Life: life, Reason: reason})
	return resetThere(started), err
}

func (r resetsThere) withdraw(ctx context.Context, u person, reason string) error {
	return r.WithdrawPasswordReset(ctx, flakepass.ID(u.id), reason)
}

func (r resetsThere) open(ctx context.Context, issuer person) ([]linkLine, error) {
	lines := []linkLine{}
	for l, err := range r.PasswordResets(ctx, flakepass.ID(issuer.id)) {
		if err != nil {
			return nil, err
		}
		lines = append(lines, linkLineOf(idworker.ID(l.ID), idworker.ID(l.UserID), l.Username, idworker.ID(l.Issuer.ID), l.Issuer.Name, l.ExpiresAt))
	}
	return lines, nil
}

func (r resetsThere) withdrawIssued(ctx context.Context, issuer person, reason string) (int, error) {
	return r.WithdrawIssuedPasswordResets(ctx, flakepass.ID(issuer.id), reason)
}

type sessionsThere struct{ counter }

func (t sessionsThere) living(ctx context.Context, user string, limit int) ([]sessionLine, error) {
	lines := []sessionLine{}
	add := func(l apiclient.UserSession) {
		lines = append(lines, sessionLineOf(idworker.ID(l.ID), idworker.ID(l.UserID), l.Username, l.Role, l.IssuedAt, l.LastSeenAt, l.ExpiresAt, l.IdleExpiresAt))
	}
	if user != "" {
		u, err := t.user(ctx, user)
		if err == nil && u.Session != nil {
			add(apiclient.UserSession{Session: *u.Session, UserID: u.ID, Username: u.Username, Role: u.Role})
		}
		return lines, err
	}
	for l, err := range t.Sessions(ctx) {
		if err != nil {
			return nil, err
		}
		if add(l); len(lines) >= limit {
			break
		}
	}
	return lines, nil
}

func (t sessionsThere) end(ctx context.Context, id idworker.ID, reason string) (string, error) {
	within, err := t.EndSession(ctx, flakepass.ID(id), reason)
	return fmt.Sprintf("login %s is over, %s", id, everywhere(within)), as(err, apiclient.NotFound, session.ErrNotFound)
}

// overThere says which login has ended; 0 is none.
func overThere(login idworker.ID, within time.Duration) string {
	if login == 0 {
		return "there was no login to end"
	}
	return fmt.Sprintf("login %s ended, %s", login, everywhere(within))
}
