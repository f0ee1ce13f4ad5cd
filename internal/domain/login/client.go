package login

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A Client is the caller of an act, with its address.
type Client struct {
	// By is the actor, for the record: the interface, the request, and the user, if one
	// is logged in. It has no address: the record keeps the address of users who act on
	// their own accounts only if they are refused.
	By    audit.Actor
	Admin bool // who is logged in is an admin
	// Address is the client's address, for the limits, the log, and the record of
	// refusals. All clients without one count together.
	Address netip.Addr
	// ShownID and ShownToken are of a token that the client sends, living or not.
	// Credential is what the client got at an earlier login; see [ratelimit.Attempt].
	ShownID    idworker.ID
	ShownToken []byte
	Credential ratelimit.DeviceCredential
	// Device is what the client says of itself, for the login that begins.
	Device *session.Device

	knownDevice bool      // Credential is one of the account that is tried
	ticketUntil time.Time // when the ticket ends that the client shows
	accepted    time.Time // since when there is the second factor whose code was right in this attempt, or in the request that it repeats
}

// Shows notes a token that the client sends.
func (c *Client) Shows(t flakepass.Token) {
	hash := session.HashOf(t)
	c.ShownID, c.ShownToken = session.IDOf(t), hash[:]
}

// attempt is an attempt of the client to log in. Whose account it is about is not in it.
func (c *Client) attempt() ratelimit.Attempt {
	return ratelimit.Attempt{Address: c.Address, ShownID: c.ShownID, ShownToken: c.ShownToken, Credential: c.Credential}
}

// attemptOf is an attempt to log in to the account of a user.
func (c *Client) attemptOf(u *account.User) ratelimit.Attempt {
	a := c.attempt()
	a.Account, a.User = u.CountedAs(), u.ID
	return a
}

// from is the address as the log and the record have it: empty if there is none.
func (c *Client) from() string {
	if !c.Address.IsValid() {
		return ""
	}
	return c.Address.String()
}

// asker is the client as the queue of hashes has it.
func (c *Client) asker(known bool) account.Asker {
	return account.Asker{Network: ratelimit.Network(c.Address), Known: known}
}

// self is the user who is logged in, for the record: none for a service that acts by a key.
func (c *Client) self() audit.Target {
	if c.By.Key != 0 {
		return audit.Target{}
	}
	return audit.AboutUser(c.By.ID, c.By.Name)
}

// over is err of an act on the own account. If that was not found, it was deleted and the login
// ended with it, which this instance does not know yet: see [Sessions].
func (s *Service) over(ctx context.Context, c *Client, err error) error {
	if !errors.Is(err, account.ErrNotFound) {
		return err
	}
	was := session.Session{ID: c.By.Session, UserID: c.By.ID, Username: c.By.Name}
	if c.Admin {
		was.Role = string(account.RoleAdmin)
	}
	return session.Whose(&was, s.Sessions.Over(ctx, c.By.Session))
}
