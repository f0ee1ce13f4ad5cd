package client

import (
	"context"
	"net/http"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// An Impersonation is a session in which this client's user acts for another one. The token
// is the only copy: the server keeps a hash.
type Impersonation struct {
	Token flakepass.Token
	wire.Impersonation
}

type wireImpersonation struct {
	Token token `json:"token"`
	wire.Impersonation
}

// Complete reports whether all is there.
func (i wireImpersonation) Complete() bool { return !i.Token.IsZero() && i.Impersonation.Complete() }

// Impersonate opens a session in which this client's user, an admin, acts for a user, for an
// hour at most, and ends the one before of that user. It changes nothing of the account.
// reason is for the record, and the user may ask for it; it must not be empty. It fails with
// [ImpersonationOff], [ImpersonationRefused], [ImpersonationLimit], [AccountDisabled], [ReauthenticationRequired],
// [NotFound] or [ValidationFailed]. After a 5xx or no answer it may have begun without
// a token: begin another.
func (c *Client) Impersonate(ctx context.Context, user flakepass.ID, reason string) (Impersonation, error) {
	i, err := ask[wireImpersonation](ctx, c, http.MethodPost, "/v1/admin/users/"+user.String()+"/impersonate", because{reason})
	if err != nil {
		return Impersonation{}, err
	}
	return Impersonation{i.Token.Token, i.Impersonation}, nil
}
