package login

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// An act is something that a user does, with its names in the log and in the record.
type act struct {
	done, not string       // lines of the log
	event     audit.Action // when it is done; empty for what is not on record
	failed    audit.Action // when it is refused
	limited   audit.Action // when a limit refuses it
	quiet     bool         // costs a stranger nothing to repeat: the log has the first of each kind
}

var (
	loggingIn   = act{done: "login", not: "login refused", event: audit.LoginBegan, failed: audit.LoginFailed, limited: audit.LoginThrottled}
	makingFirst = act{done: "first admin created", not: "first admin not created", event: audit.UserCreated}
	registering = act{done: "registered", not: "registration refused", event: audit.UserCreated, failed: audit.RegistrationRefused, limited: audit.RegistrationHeld, quiet: true}
	byLink      = act{done: "password reset", not: "password not reset", event: audit.ResetUsed, failed: audit.ResetRefused, limited: audit.ResetRefused}
	// The record has the exports that fill the limit, so it has no event for what that refuses.
	exporting = act{done: "own data exported", not: "own data not exported", event: audit.DataExported}

	reauthenticating = proving("reauthenticated", "not reauthenticated", audit.Reauthenticated)
	changingPassword = proving("password changed", "password not changed", audit.PasswordChanged)
	enrolling        = proving("second factor begun", "second factor not changed", "")
	confirming       = proving("second factor added", "second factor not changed", audit.SecondFactorEnrolled)
	renewing         = proving("recovery codes renewed", "second factor not changed", audit.RecoveryCodesRenewed)
	removing         = proving("second factor removed", "second factor not changed", audit.SecondFactorRemoved)
)

func proving(done, not string, event audit.Action) act {
	return act{done: done, not: not, event: event, failed: audit.PasswordRefused, limited: audit.LoginThrottled}
}

// errChanged means that the account has changed since it was read.
var errChanged = errors.New("login: the account changed meanwhile")

// errLeft means that the account is to be deleted since it was read.
var errLeft = errors.New("login: somebody has asked meanwhile to delete the account")

// looks is how often an account that changes meanwhile is looked at.
const looks = 4

// A finder says whose account an attempt is about.
type finder func(ctx context.Context) (account.Found, error)

// attempt runs do, which tries a password or a code. It counts this as an attempt to log in to the
// account that find finds. It calls find before it counts by account, so that all names of one
// account share a count. do gets what find has found, and returns the user of the account.
//
// If the proof was right, the attempt is forgiven. If the error shows a client nothing about the
// password, the attempt is given back, also if the client has left. A refusal after the right
// password is wrapped in [afterProof]. Every other attempt counts.
func (s *Service) attempt(ctx context.Context, c *Client, find finder, do func(account.Asker, account.Found) (account.User, error)) error {
	var found *account.Found
	a := c.attempt()
	a.Whose = func(ctx context.Context) (string, idworker.ID, error) {
		if found == nil {
			f, err := find(ctx)
			if err != nil {
				return "", 0, err
			}
			found = &f
		}
		return found.CountedAs(), found.User.ID, nil
	}
	taken, err := s.Attempts.Login(ctx, a)
	if err == nil {
		_, _, err = a.Whose(ctx)
	}
	if err != nil {
		return err
	}
	c.knownDevice, c.accepted = taken.Device, time.Time{}
	user, err := look(ctx, find, *found, func(f account.Found) (account.User, error) { return do(c.asker(taken.Known), f) })
	switch {
	case right(err):
		taken.Attempt.Account = user.CountedAs() // the account may have been made meanwhile
		s.notice(ctx, c, &user, s.Attempts.LoggedIn(ctx, taken, user.ID))
	case errors.Is(err, account.ErrUndecided):
		s.Attempts.Return(ctx, taken)
	}
	return err
}

// look runs do. If the account has changed meanwhile, look calls find and runs do again, at most
// [looks] times in all. After such a change the proof may still be right: the user may have got
// another second factor or role, or may have asked to delete the account. find may be nil if do
// reads the account itself.
func look(ctx context.Context, find finder, f account.Found, do func(account.Found) (account.User, error)) (account.User, error) {
	for try := 1; ; try++ {
		user, err := do(f)
		if !errors.Is(err, errChanged) || try == looks {
			return user, err
		}
		if find == nil {
			continue
		}
		if f, err = find(ctx); err != nil {
			return user, err
		}
	}
}

// byID finds the user with that ID. what is for an error.
func (s *Service) byID(id idworker.ID, what string) finder {
	return func(ctx context.Context) (account.Found, error) {
		user, err := s.Users.ByID(ctx, id)
		if err != nil {
			return account.Found{}, fmt.Errorf("login: %s: %w", what, account.Undecided(err))
		}
		return account.Found{User: user, Name: user.Username}, nil
	}
}

// right reports whether the proof was right. It was also right if only the new password
// was refused, or if there is no room for the login.
func right(err error) bool {
	_, wrong := errors.AsType[*invalid.Error](err)
	return session.Done(err) || errors.Is(err, ErrNoRoom) || wrong && !errors.Is(err, secondfactor.ErrUnchecked)
}

// prove runs do, for which a user who is logged in has to show a proof. That counts as
// an attempt to log in. given is the password, or the zero one if only a code is
// required. A password that no account can have is no guess, and costs nothing.
func (s *Service) prove(ctx context.Context, c *Client, a *act, given account.Password, do func(by account.Asker, user *account.User) error) error {
	err := account.Impossible(c.By.Name, given)
	if err == nil {
		err = s.attempt(ctx, c, s.byID(c.By.ID, a.not), func(by account.Asker, f account.Found) (account.User, error) {
			by.Known = true // is logged in
			return f.User, do(by, &f.User)
		})
	}
	return s.finish(ctx, c, a, audit.Target{}, s.over(ctx, c, current(err)))
}

// finish records the result of an act, and returns err. An act with an error that wraps
// [session.ErrUnpublished] is done, and effective everywhere within the bound.
func (s *Service) finish(ctx context.Context, c *Client, a *act, to audit.Target, err error) error {
	if !session.Done(err) {
		s.refused(ctx, c, a, err)
		return err
	}
	if to.ID == 0 {
		to = c.self()
	}
	args := []any{"user_id", to.ID}
	if err != nil {
		args = append(args, "err", err)
	}
	s.log(ctx, c, a.done, a.event, args...)
	return nil
}

// refused records and logs that an act was refused. Neither contains the typed name,
// also if an account has that name: users type their password into that field, and the
// name of another account may be one. Both contain the ID of the account with that
// name, so that an operator sees which account is attacked. A failure that the client
// did not cause is only in the log.
func (s *Service) refused(ctx context.Context, c *Client, a *act, err error) {
	n, failed := refusal(c, err)
	if _, wrong := errors.AsType[*invalid.Error](err); wrong {
		failed = a.failed == audit.RegistrationRefused
	}
	args, first := []any{"reason", n.Reason}, true
	if n.Target.ID != 0 {
		args = append(args, "user_id", n.Target.ID)
	}
	if failed && a.failed != "" {
		n.Action = a.failed
		if _, limited := errors.AsType[*ratelimit.LimitedError](err); limited {
			n.Action = a.limited
		}
		n.By.Address = c.from()
		first = s.Incidents.Note(n)
	}
	if first || !a.quiet || n.Action != a.failed {
		s.log(ctx, c, a.not, n.Action, args...)
	}
}

// notice records what was unusual about a right password.
func (s *Service) notice(ctx context.Context, c *Client, user *account.User, n ratelimit.Notice) {
	note := func(action audit.Action, reason string, more ...any) {
		s.log(ctx, c, "login to look at", action, append([]any{"user_id", user.ID, "reason", reason}, more...)...)
		seen := audit.Incident{Action: action, Reason: reason, Target: audit.AboutUser(user.ID, user.Username), By: c.By, Admin: user.Role == account.RoleAdmin}
		seen.By.Address = c.from()
		s.Incidents.Note(seen)
	}
	if n.NewPlace {
		note(audit.LoginNewPlace, "new_place")
	}
	if n.Failures > 0 {
		note(audit.LoginAfterMisses, "after_failures", "failures", n.Failures)
	}
}

// log is one line about the security of an account.
func (s *Service) log(ctx context.Context, c *Client, what string, event audit.Action, args ...any) {
	if event != "" {
		args = append(args, "event", event)
	}
	if c.By.Via != audit.ViaAPI {
		args = append(args, "via", c.By.Via)
	}
	if c.By.Key != 0 {
		args = append(args, "by", c.By.ID, "key_id", c.By.Key)
	}
	args = append(args, "from", c.from(), "request_id", c.By.RequestID)
	s.Log.InfoContext(ctx, what, args...) //nolint:sloglint // every caller passes a constant
}

// event makes the event of an act on that user's own account.
func (s *Service) event(ctx context.Context, by audit.Actor, u *account.User, need audit.Need, action audit.Action, after any) (audit.Event, error) {
	by.ID, by.Name = u.ID, u.Username
	return audit.New(ctx, s.IDs, by, need, action, audit.AboutUser(u.ID, u.Username), "", nil, after)
}
