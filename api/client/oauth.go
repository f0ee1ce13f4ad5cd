package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// Introspection is what the server says of a token (RFC 7662). Where
// Active is false the rest is zero, whatever the reason.
type Introspection struct {
	Active   bool
	UserID   flakepass.ID // never changes, never reused
	Username string
	Role     string // user, service or admin
	// Act is who acts for the user by this token: an admin, for support. 0 means the user. Who
	// changes things for a token should refuse one with an Act, or record it.
	Act       flakepass.ID
	SessionID flakepass.ID
	// DeviceClass is what the client said of itself. Never trust it.
	DeviceClass string
	IssuedAt    time.Time // to the second, as ExpiresAt
	ExpiresAt   time.Time // when the login ends if it is not used
	// AuthMethod is how the user was authenticated, such as pwd or sms, and AuthTime when, to the
	// second. Empty and zero with an Act, and from a server of an earlier version.
	AuthMethod string
	AuthTime   time.Time
}

// Introspect says who holds a token. The caller shows a service key with the scope verify,
// or a token of the role service or admin. To
// ask counts as a use of the login that is asked about, unless ctx is of
// [flakepass.NewPassiveContext]. For more than now and then use
// [flakepass.Remote], which remembers answers without making the revocation bound
// longer.
func (c *Client) Introspect(ctx context.Context, t flakepass.Token) (Introspection, error) {
	v, err := get[wire.Introspection](ctx, c, form("/v1/introspect", t))
	if err != nil || !*v.Active {
		return Introspection{}, err
	}
	who := Introspection{Active: true, UserID: v.UserID, Username: v.Username, Role: v.Role, Act: v.Act.Admin(), SessionID: v.SessionID, DeviceClass: v.DeviceClass, IssuedAt: time.Unix(v.IssuedAt, 0).UTC(), ExpiresAt: time.Unix(v.ExpiresAt, 0).UTC()}
	if len(v.Methods) > 0 {
		who.AuthMethod, who.AuthTime = v.Methods[0], time.Unix(v.AuthTime, 0).UTC()
	}
	return who, nil
}

// Revoke ends the login of a token (RFC 7009). The caller shows a service key with the
// scope revoke, or a token of the role service or admin. What is no living token is no error. After a 5xx assume that it lives,
// and try again.
func (c *Client) Revoke(ctx context.Context, t flakepass.Token) error {
	r := form("/v1/revoke", t)
	r.none = http.StatusOK
	body, _, err := c.do(ctx, r)
	if err == nil && body != nil {
		return fmt.Errorf("client: a revocation with a body: %w", ErrAnswer)
	}
	return err
}

// form is a call with a token in a form, as OAuth has it.
func form(path string, t flakepass.Token) *call {
	return &call{
		method: http.MethodPost, path: path, again: true,
		body: []byte(url.Values{"token": {t.Reveal()}}.Encode()), kind: "application/x-www-form-urlencoded",
	}
}
