package client

import (
	"context"
	"net/http"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// MySessions are the logins of this client's own account that live, newest first. The
// server reads its database for it. To ask counts as a use of the login, unless ctx is of
// [flakepass.NewPassiveContext].
func (c *Client) MySessions(ctx context.Context) ([]wire.MySession, error) {
	return whole[wire.MySession](ctx, c, "/v1/me/sessions", "sessions")
}

// EndMySession ends one login of this client's own account. One that is over already is no
// error; an ID that is none of this account's is [NotFound]. Another login than that of this
// client's token fails with [ReauthenticationRequired] unless [Client.Reauthenticate] or the
// login itself was lately. within is as [Client.Logout] returns it. After any other error
// assume that the login still lives, and try again.
func (c *Client) EndMySession(ctx context.Context, id flakepass.ID) (within time.Duration, err error) {
	return c.act(ctx, http.MethodDelete, "/v1/me/sessions/"+id.String(), nil, repeatable)
}

// LogoutOthers ends all logins of this client's own account but that of its token, and
// returns how many lived until then. It fails with [ReauthenticationRequired] as
// [Client.EndMySession] does. within is as [Client.Logout] returns it. After any other error
// assume that they still live, and try again.
func (c *Client) LogoutOthers(ctx context.Context) (ended int, within time.Duration, err error) {
	v, err := ask[wire.LoggedOutOthers](ctx, c, http.MethodPost, "/v1/me/sessions/logout-others", nil, repeatable)
	if err != nil {
		return 0, 0, err
	}
	return *v.Ended, time.Duration(v.Within), nil
}

// LogoutEverywhere ends all logins of this client's own account, that of its token too. It
// needs no proof of the password. within is as [Client.Logout] returns it. A 401 says that
// the login of the token had ended before, and nothing of the other logins. After any other
// error assume that they still live, and try again.
func (c *Client) LogoutEverywhere(ctx context.Context) (within time.Duration, err error) {
	return c.act(ctx, http.MethodPost, "/v1/logout", struct {
		Everywhere bool `json:"everywhere"`
	}{true}, repeatable)
}
