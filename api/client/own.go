package client

import (
	"context"
	"fmt"
	"io"
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

// DeleteMe ends all logins of this client's own account, and has the account deleted when the
// grace period is over; a login before that cancels it. It fails with [SelfDeletionOff],
// [ReauthenticationRequired] unless [Client.Reauthenticate] or the login itself was lately,
// [Forbidden] for a service, [Impersonated], and [LastAdmin]. After a 5xx the result is unknown.
func (c *Client) DeleteMe(ctx context.Context) (wire.DeletionAsked, error) {
	return ask[wire.DeletionAsked](ctx, c, http.MethodDelete, "/v1/me", nil)
}

// ExportMe copies to w what the server keeps of this client's own account, a [wire.MyData] in
// JSON. It may be long: of the limits of time, that of ctx holds, and the Timeout of [Options].HTTP. It fails with [ReauthenticationRequired] as [Client.DeleteMe] does, and
// with [RateLimited]. What was copied before an error is no whole document.
func (c *Client) ExportMe(ctx context.Context, w io.Writer) error {
	req, err := c.request(ctx, read("/v1/me/export", nil))
	if err != nil {
		return err
	}
	resp, err := c.long.Do(req)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // the status is known
		return refused(resp, body)
	case resp.StatusCode >= http.StatusMultipleChoices:
		return redirected(resp)
	case mediaType(resp.Header) != typeJSON:
		return fmt.Errorf("client: status %d without JSON: %w", resp.StatusCode, ErrAnswer)
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("client: read the answer: %w", err)
	}
	return nil
}
