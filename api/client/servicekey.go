package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// A NewServiceKey says what a service key is to be.
type NewServiceKey struct {
	Name      string    // for people: where the key is used
	Scopes    []string  // verify, revoke, issue, issue:any-role, read:users, write:users; at least one
	ExpiresAt time.Time // zero: never
	Reason    string    // why, for the record; may be empty
}

// A MadeServiceKey is a new key with its text, which the server shows this once.
type MadeServiceKey struct {
	Key flakepass.ServiceKey `json:"key"`
	wire.ServiceKey
}

// Complete reports whether all is there.
func (k MadeServiceKey) Complete() bool {
	return !k.Key.IsZero() && k.Key.ID() == k.ID && k.ServiceKey.Complete()
}

// CreateServiceKey makes a key for an account of the role service. It fails with
// [NotFound], [ValidationFailed] or [ReauthenticationRequired]. After a 5xx or no answer
// the result is unknown: look for the name, and revoke what nobody has.
func (c *Client) CreateServiceKey(ctx context.Context, user flakepass.ID, k NewServiceKey) (MadeServiceKey, error) {
	return ask[MadeServiceKey](ctx, c, http.MethodPost, "/v1/admin/users/"+user.String()+"/keys", struct {
		Name      string    `json:"name"`
		Scopes    []string  `json:"scopes"`
		ExpiresAt wire.Time `json:"expires_at,omitzero"`
		Reason    string    `json:"reason,omitempty"`
	}{k.Name, k.Scopes, wire.At(k.ExpiresAt), k.Reason})
}

// ServiceKeys lists the keys of an account, newest first, with those that are over.
func (c *Client) ServiceKeys(ctx context.Context, user flakepass.ID) iter.Seq2[wire.ServiceKey, error] {
	return list[wire.ServiceKey](ctx, c, "/v1/admin/users/"+user.String()+"/keys", "keys", nil)
}

// RevokeServiceKey ends a key for good. within is by when every instance refuses it. It
// fails with [NotFound]. After a 5xx or no answer assume that the key is good, and try
// again.
func (c *Client) RevokeServiceKey(ctx context.Context, id flakepass.ID, reason string) (within time.Duration, err error) {
	return c.act(ctx, http.MethodDelete, "/v1/admin/keys/"+id.String(), because{reason}, repeatable)
}
