package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/flakepass/flakepass/api/wire"
)

// DeleteMe ends all logins of this client's own account, and has the account deleted when the
// grace period is over; a login before that cancels it. It fails with [SelfDeletionOff],
// [ReauthenticationRequired] unless [Client.Reauthenticate] or the login itself was lately,
// [Forbidden] for a service, [Impersonated], and [LastAdmin]. After a 5xx the result is unknown.
func (c *Client) DeleteMe(ctx context.Context) (wire.DeletionAsked, error) {
	return ask[wire.DeletionAsked](ctx, c, http.MethodDelete, "/v1/me", nil)
}

// ExportMe copies to w what the server keeps of this client's own account, a [wire.MyData] in
// JSON. It may be long. It fails with [ReauthenticationRequired] as [Client.DeleteMe] does, and
// with [RateLimited]. What was copied before an error is no whole document.
func (c *Client) ExportMe(ctx context.Context, w io.Writer) error {
	req, err := c.request(ctx, read("/v1/me/export", nil))
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
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
