package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// A NameChange says what is to be different of the names of a user. What is nil stays.
type NameChange struct {
	Username *string `json:"username,omitempty"`
	// Aliases are all mail addresses and phone numbers (E.164) with which the user may log in
	// beside the username: at most 5, and none for an empty list.
	Aliases *[]string `json:"aliases,omitempty"`
	// AddAliases are added to those that the user has, and RemoveAliases are taken from them,
	// also if somebody else changes them meanwhile.
	AddAliases    []string `json:"add_aliases,omitempty"`
	RemoveAliases []string `json:"remove_aliases,omitempty"`
	Reason        string   `json:"reason,omitempty"` // why, for the record
}

// ChangeNames changes the names of a user, as an admin. No login ends; its identity has the
// new username within the bound. It fails with [NotFound], [ValidationFailed],
// [UsernameTaken], [AliasTaken] or [ReauthenticationRequired]. After a 5xx the result is
// unknown: call it again.
func (c *Client) ChangeNames(ctx context.Context, id flakepass.ID, to NameChange) (wire.User, error) {
	return ask[wire.User](ctx, c, http.MethodPatch, "/v1/admin/users/"+id.String(), to)
}

// ChangeNamesByKey is ChangeNames for a client that shows a service key with the scope
// write:users. It also fails with [AccountProtected]: only an admin changes the names of an
// admin or of a service.
func (c *Client) ChangeNamesByKey(ctx context.Context, id flakepass.ID, to NameChange) (wire.User, error) {
	return ask[wire.User](ctx, c, http.MethodPatch, "/v1/users/"+id.String(), to)
}

// A UserQuery names one user by exactly one of its fields.
type UserQuery struct {
	ID                          flakepass.ID
	Username, Alias, ExternalID string
}

// FindUser is the user with that name, for a client that shows a service key with the scope
// read:users, or [NotFound].
func (c *Client) FindUser(ctx context.Context, q UserQuery) (wire.User, error) {
	if q.ID != 0 {
		return get[wire.User](ctx, c, read("/v1/users/"+q.ID.String(), nil))
	}
	query := url.Values{}
	for name, value := range map[string]string{"username": q.Username, "alias": q.Alias, "external_id": q.ExternalID} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return get[wire.User](ctx, c, read("/v1/users", query))
}
