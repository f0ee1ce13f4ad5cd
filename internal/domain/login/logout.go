package login

import (
	"context"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Logout ends the login that t opens. It also succeeds if there is none, so that a
// caller cannot test tokens with it. An error wrapping [session.ErrUnpublished] means
// that the login is over, and that the end is effective everywhere within the bound.
func (s *Service) Logout(ctx context.Context, c *Client, t flakepass.Token) error {
	ended, err := s.Sessions.Close(ctx, c.By, t)
	if ended.ID == 0 { // the ID is only what a stranger claims
		return err
	}
	args := []any{"user_id", ended.UserID, "session_id", t.ID()}
	switch {
	case endedNow(&ended, err):
		if err != nil {
			args = append(args, "err", err)
		}
		s.Counts.Add(activity.Logout, own(&ended))
		s.log(ctx, c, "logout", endOf(&ended), args...)
	case err == nil:
		s.log(ctx, c, "logout of a login that was over", "", append(args, "reason", ended.Ended)...)
	}
	return err
}

// Revoke is [Service.Logout] of a token that another service has received. The record
// names that service, and its address.
func (s *Service) Revoke(ctx context.Context, c *Client, t flakepass.Token) error {
	by := c.By
	by.Address = c.from()
	ended, err := s.Sessions.Revoke(ctx, by, t)
	what, args := "revoked", []any{"user_id", ended.UserID, "session_id", ended.ID}
	switch {
	case ended.ID == 0, !session.Done(err): // the ID is only what a stranger claims
		return err
	case err != nil:
		what, args = "revoked, not published", append(args, "err", err)
	case ended.Before:
		what, args = "revocation of a login that was over", append(args, "reason", ended.Ended)
	}
	if !ended.Before {
		s.Counts.Add(activity.Logout, own(&ended))
	}
	s.Log.InfoContext(ctx, what, append(args, by.LogArgs()...)...) //nolint:sloglint // one of three constants
	return err
}

// own is 1 for a login of its user, and 0 for an impersonation: that is counted neither when it
// begins nor when it ends.
func own(was *session.Session) int {
	if was.Act != 0 {
		return 0
	}
	return 1
}

// endOf is the action in the record that ended a login.
func endOf(was *session.Session) audit.Action {
	if was.Act != 0 {
		return audit.ImpersonationEnded
	}
	return audit.LoginLoggedOut
}

// endedNow reports whether this call ended the login.
func endedNow(was *session.Session, err error) bool {
	return was.ID != 0 && !was.Before && session.Done(err)
}
