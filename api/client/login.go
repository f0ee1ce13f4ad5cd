package client

import (
	"context"
	"net/http"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// Register makes an account with the role user, and returns its name as the
// server keeps it. It does not log in. It fails with [UsernameTaken],
// [RegistrationClosed], [RateLimited], or [ValidationFailed] with all that is
// wrong with name and password.
func (c *Client) Register(ctx context.Context, username string, p Password) (name string, err error) {
	v, err := ask[wire.Registered](ctx, c, http.MethodPost, "/v1/register", namePassword{username, p.reveal()}, open)
	return v.Username, err
}

type namePassword struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// Credentials are what a login takes.
type Credentials struct {
	Username string
	Password Password
	// Code is one of the second factor, or a recovery code. It may be empty, and is
	// ignored where the account has none.
	Code string
	// DeviceCredential is what the last login to this account on this device has brought. With
	// it the login gets past what strangers have used up of the account's attempts.
	// The zero one: there is none.
	DeviceCredential DeviceCredential
	// Device is what people see of this device where they see their logins. The zero one
	// is of the class other.
	Device wire.Device
	// DeviceID is what the app keeps on this device to know it again, such as a random number. A
	// login on the same device replaces its own. The server keeps a hash of it. It may be empty.
	DeviceID string
	// EndSession is a login of the user that ends for this one, as [SessionLimit] lists them;
	// 0 is none.
	EndSession flakepass.ID
	// Ticket is what came with [SessionLimit]. It stands for Username, Password and Code,
	// which are not sent then.
	Ticket Ticket
	// Last is the token of the last login on this device, if the app still has it; the login
	// may be over. It proves a known device as DeviceCredential does, until there were
	// two logins to the account elsewhere.
	Last flakepass.Token
}

// A Login has begun. The token is the only copy: the server keeps a hash.
type Login struct {
	Token         flakepass.Token `json:"token"`
	SessionID     flakepass.ID    `json:"session_id"`      // public
	Device        wire.Device     `json:"device"`          // as the server keeps it
	ExpiresAt     wire.Time       `json:"expires_at"`      // when the absolute lifetime ends
	IdleExpiresAt wire.Time       `json:"idle_expires_at"` // when the idle timeout ends if no request comes
	// DeviceCredential is to be kept, also after a logout, for [Credentials]. It is the
	// zero one if the server gives none.
	DeviceCredential DeviceCredential `json:"device_credential"`
	// DeletionCancelled means that the user had asked for the account to be deleted, and
	// that this login has cancelled that.
	DeletionCancelled bool `json:"deletion_cancelled"`
}

// Complete reports whether all is there.
func (l Login) Complete() bool {
	return !l.Token.IsZero() && l.Token.ID() == l.SessionID && !l.ExpiresAt.IsZero() && !l.IdleExpiresAt.IsZero()
}

// Login begins a login of a user, and ends those for which the policy leaves no room. It fails
// with [CredentialsInvalid], [AccountDisabled], [RateLimited] or [Busy]; and, if the
// password is right, [SecondFactorRequired], [SecondFactorInvalid], [PasswordResetRequired] or
// [SessionLimit]. The problem of that has the logins of the user, and a ticket to go on with.
// [TicketOver] means that the ticket cannot be used any more. After any
// other failure a login may have begun: log in again.
func (c *Client) Login(ctx context.Context, who Credentials) (Login, error) {
	if !who.Ticket.IsZero() {
		who.Username, who.Password, who.Code = "", Password{}, ""
	}
	return ask[Login](ctx, c, http.MethodPost, "/v1/login", struct {
		namePassword
		Code       string   `json:"code,omitempty"`
		Credential string   `json:"device_credential,omitempty"`
		Device     ofDevice `json:"device,omitzero"`
		End        wire.ID  `json:"end_session,omitzero"`
		Ticket     string   `json:"ticket,omitempty"`
	}{namePassword{who.Username, who.Password.reveal()}, who.Code, who.DeviceCredential.Reveal(), ofDevice{who.Device, who.DeviceID}, who.EndSession, who.Ticket.Reveal()}, open, func(r *call) {
		if !who.Last.IsZero() {
			r.header = http.Header{"Authorization": {"Bearer " + who.Last.Reveal()}}
		}
	})
}

type ofDevice struct {
	wire.Device
	ID string `json:"id,omitempty"`
}

// Logout ends the login of this client's token. A login that is over already is
// no error. The server that answered refuses the token from then on, and every
// instance does within the revocation bound; within is that time if the server
// says that it could not notify its other instances. Otherwise within is 0: they are
// notified, or the server has no Redis and they read the end within the bound. After an error
// other than a 401 assume that the token still lives, and try again.
func (c *Client) Logout(ctx context.Context) (within time.Duration, err error) {
	return c.act(ctx, http.MethodPost, "/v1/logout", nil, repeatable)
}

// Me says whose token this client has, and how long the login lasts. To ask
// counts as a use of the login, unless ctx is of [flakepass.NewPassiveContext].
func (c *Client) Me(ctx context.Context) (wire.Me, error) {
	return get[wire.Me](ctx, c, read("/v1/me", nil))
}

// ChangePassword sets another password and ends the login, so that this client's
// token is dead. It fails with [CurrentPasswordInvalid], [ValidationFailed],
// [RateLimited] or [Busy], after which nothing has changed. After [Unavailable],
// [InternalError] or no answer the result is unknown: log in to find out which password
// holds.
func (c *Client) ChangePassword(ctx context.Context, current, next Password) error {
	return c.ChangePasswordWithCode(ctx, current, next, "")
}

// Reauthenticate shows the password of this client's token's user once more, and a
// code of the second factor if there is one. For ten minutes from then on this
// login, and no other, may do what otherwise fails with
// [ReauthenticationRequired]. code may be empty. It fails with
// [CurrentPasswordInvalid], [CurrentCodeInvalid], [RateLimited] or [Busy]; the
// login goes on.
func (c *Client) Reauthenticate(ctx context.Context, p Password, code string) error {
	_, err := c.act(ctx, http.MethodPost, "/v1/me/reauthenticate", struct {
		Password string `json:"password"`
		Code     string `json:"code,omitempty"`
	}{p.reveal(), code})
	return err
}

// Ready reports, by no error, that the instance can do its work. [NotReady] has
// the reasons why it cannot.
func (c *Client) Ready(ctx context.Context) error {
	r := read("/readyz", nil)
	r.open = true
	_, err := get[ready](ctx, c, r)
	return err
}

type ready struct {
	Status string `json:"status"`
}

func (r ready) Complete() bool { return r.Status == "ready" }
