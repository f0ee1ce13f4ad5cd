package login

import (
	"net/netip"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// A Client is who asks, and from where.
type Client struct {
	// By is who acts, for the record: by which way and request, and who is logged in,
	// if any. It has no address: where people are who act on their own accounts is
	// not kept, unless they are refused.
	By    audit.Actor
	Admin bool // who is logged in is an admin
	// Address is where the request comes from, for the limits, the log, and the record
	// of what is refused. All who have none count together.
	Address netip.Addr
	// ShownToken is the hash of a token that the client shows, living or not, and
	// Credential what it was given at a login before; see [ratelimit.Attempt].
	ShownToken []byte
	Credential ratelimit.DeviceCredential
}

// attempt is one to be the holder of that name.
func (c *Client) attempt(name string) ratelimit.Attempt {
	a := ratelimit.Attempt{Account: name, Address: c.Address, ShownToken: c.ShownToken, Credential: c.Credential}
	if normal, err := account.NormalizeUsername(name); err == nil {
		a.Account = normal // all spellings of one name count together
	}
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

// self is the user who is logged in, for the record.
func (c *Client) self() audit.Target { return audit.AboutUser(c.By.ID, c.By.Name) }
