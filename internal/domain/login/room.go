package login

import (
	"context"
	"errors"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// ErrNoRoom means that the proofs are right, and that the user has as many logins as the
// policy allows. See [NoRoomError].
var ErrNoRoom = errors.New("as many logins as the policy allows")

// A NoRoomError is [ErrNoRoom] with the logins of the user, any of which may end for the new
// one, and with a ticket that stands for the password and the code: see [Service.Instead].
type NoRoomError struct {
	Logins []session.Login // only those whose end makes room
	Ticket secondfactor.Ticket
}

// Error is that of [ErrNoRoom].
func (*NoRoomError) Error() string { return ErrNoRoom.Error() }

// Unwrap is [ErrNoRoom].
func (*NoRoomError) Unwrap() error { return ErrNoRoom }

// noRoom is the refusal of a login of a user after all proofs. An issuer gets no ticket: it has
// a key, and asks again.
func (s *Service) noRoom(ctx context.Context, c *Client, user *account.User, full *session.LimitError, ticketed bool) error {
	logins, err := s.Devices.Living(full.Choices)
	if err != nil {
		return afterProof("open", err)
	}
	if !ticketed {
		return &NoRoomError{Logins: logins}
	}
	ticket, err := s.Codes.Ticket(ctx, secondfactor.Holder{
		UserID: user.ID, Username: user.Username, PasswordVersion: user.PasswordVersion, Last: full.Last, Until: c.ticketUntil,
	})
	if err != nil {
		return afterProof("open", err)
	}
	return &NoRoomError{logins, ticket}
}

// Instead opens the login that was refused with a [*NoRoomError], whose ticket stands for the
// proofs, in place of that login of the user. It fails with [secondfactor.ErrTicket] if the
// ticket is too old, if the user has logged in or shown a code since, or if the password or
// the factor has changed: so a ticket opens one login. If other logins leave no room it fails
// with a [*NoRoomError] again, whose ticket ends when this one does.
func (s *Service) Instead(ctx context.Context, c *Client, only account.Role, ticket string, end idworker.ID) (Begun, error) {
	return s.byTicket(ctx, c, only, ticket, secondfactor.Code{}, true, end)
}
