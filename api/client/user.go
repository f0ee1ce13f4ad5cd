package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// Users lists the users whose names begin with prefix, in the order of the code
// points of their names; or, where prefix is empty, all of them, newest first.
// The one whose name is the prefix comes first, and who has it as an alias last.
func (c *Client) Users(ctx context.Context, prefix string) iter.Seq2[wire.User, error] {
	return list[wire.User](ctx, c, "/v1/admin/users", "users", queryOf("name", prefix))
}

// User is one user, or [NotFound].
func (c *Client) User(ctx context.Context, id flakepass.ID) (wire.Person, error) {
	return get[wire.Person](ctx, c, read("/v1/admin/users/"+id.String(), nil))
}

// A NewUser is what an account is made of.
type NewUser struct {
	Username string
	Password Password
	Role     string // user, service or admin
	Reason   string // why, for the record; may be empty
}

// CreateUser makes an account, also where registration is closed. It fails as
// [Client.Register] does. After [Unavailable], [InternalError] or no answer
// the result is unknown: look for the name.
func (c *Client) CreateUser(ctx context.Context, u NewUser) (wire.User, error) {
	return ask[wire.User](ctx, c, http.MethodPost, "/v1/admin/users", struct {
		namePassword
		Role   string `json:"role"`
		Reason string `json:"reason,omitempty"`
	}{namePassword{u.Username, u.Password.reveal()}, u.Role, u.Reason})
}

// A UserChange says what is to be different. What is nil stays.
type UserChange struct {
	Role     *string `json:"role,omitempty"`
	Disabled *bool   `json:"disabled,omitempty"`
	Reason   string  `json:"reason,omitempty"` // why, for the record
}

// A UserChanged is what came of a change.
type UserChanged struct {
	// Person is the user after the change, or nil if Within is not 0.
	Person *wire.Person
	// Within is by when every instance acts by the change, if the server could not
	// notify the others; else 0, and they apply it at once.
	Within time.Duration
}

// ChangeUser changes a user, and so ends all logins of the user. If everything is so already,
// nothing changes and no login ends. It fails with [NotFound], [ValidationFailed] or [LastAdmin],
// and, for another role and to enable, with [ReauthenticationRequired]. After a 5xx the result is
// unknown: call it again.
func (c *Client) ChangeUser(ctx context.Context, id flakepass.ID, to UserChange) (UserChanged, error) {
	r, err := send(http.MethodPatch, "/v1/admin/users/"+id.String(), to)
	if err != nil {
		return UserChanged{}, err
	}
	body, status, err := c.do(ctx, r)
	if err != nil {
		return UserChanged{}, err
	}
	if status == http.StatusAccepted {
		v, err := decode[wire.Pending](body)
		return UserChanged{nil, time.Duration(v.Within)}, err
	}
	v, err := decode[wire.Person](body)
	if err != nil {
		return UserChanged{}, err
	}
	return UserChanged{&v, 0}, nil
}

// A LogoutHow says which logins of a user end, and why.
type LogoutHow struct {
	DeviceClass string `json:"device_class,omitempty"` // only those on devices of this class; empty: all
	Reason      string `json:"reason,omitempty"`       // for the record
}

// LogoutUser ends the logins of a user that how is about, if there are any. within is as
// [Client.Logout] returns it. After an error other than [NotFound] assume that
// they still live, and try again.
func (c *Client) LogoutUser(ctx context.Context, id flakepass.ID, how LogoutHow) (within time.Duration, err error) {
	return c.act(ctx, http.MethodPost, "/v1/admin/users/"+id.String()+"/logout", how)
}

// Stats counts users and living logins.
func (c *Client) Stats(ctx context.Context) (wire.Stats, error) {
	return get[wire.Stats](ctx, c, read("/v1/admin/stats", nil))
}

// DeleteUser deletes a user, who has to have that name, so that a mistaken ID deletes nobody;
// it ends all logins of the user. To delete a user again is no error until the purge. It fails
// with [NotFound], [ValidationFailed] for another name, [LastAdmin] or
// [ReauthenticationRequired]. within is as [Client.Logout] returns it. After any other error
// assume that the user is still there, and try again.
func (c *Client) DeleteUser(ctx context.Context, id flakepass.ID, username, reason string) (within time.Duration, err error) {
	return c.act(ctx, http.MethodDelete, "/v1/admin/users/"+id.String(), struct {
		Username string `json:"username"`
		Reason   string `json:"reason,omitempty"`
	}{username, reason}, repeatable)
}

// An Impersonation is a session in which this client's user acts for another one. The token
// is the only copy: the server keeps a hash.
type Impersonation struct {
	Token flakepass.Token `json:"token"`
	wire.Impersonation
}

// Complete reports whether all is there.
func (i Impersonation) Complete() bool { return !i.Token.IsZero() && i.Impersonation.Complete() }

// Impersonate opens a session in which this client's user, an admin, acts for a user, for an
// hour at most, and ends the one before of that user. It changes nothing of the account.
// reason is for the record, and the user may ask for it; it must not be empty. It fails with
// [ImpersonationOff], [ImpersonationRefused], [ImpersonationLimit], [AccountDisabled], [ReauthenticationRequired],
// [NotFound] or [ValidationFailed]. After a 5xx or no answer it may have begun without
// a token: begin another.
func (c *Client) Impersonate(ctx context.Context, user flakepass.ID, reason string) (Impersonation, error) {
	return ask[Impersonation](ctx, c, http.MethodPost, "/v1/admin/users/"+user.String()+"/impersonate", because{reason})
}

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
	return get[wire.User](ctx, c, read("/v1/users", queryOf("username", q.Username, "alias", q.Alias, "external_id", q.ExternalID)))
}
