package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
)

// A User is an account. Times are UTC.
type User struct {
	ID         flakepass.ID `json:"id"` // never changes, never reused
	Username   string       `json:"username"`
	Role       string       `json:"role"`          // user, service or admin
	HasFactor  bool         `json:"second_factor"` // a login needs a code beside the password
	DisabledAt time.Time    `json:"disabled_at"`   // zero for one that is enabled
	CreatedAt  time.Time    `json:"created_at"`
	UpdatedAt  time.Time    `json:"updated_at"`
}

func (u User) complete() bool {
	return u.ID != 0 && u.Username != "" && u.Role != "" && !u.CreatedAt.IsZero()
}

// A Person is a user, and the login of the user that lives, if there is one.
type Person struct {
	User
	Session *Session `json:"session"`
}

func (p Person) complete() bool {
	return p.User.complete() && (p.Session == nil || p.Session.complete())
}

type userPage struct {
	Users []User `json:"users"`
	next
}

func (p userPage) complete() bool  { return whole(p.Users) }
func (p userPage) entries() []User { return p.Users }

// Users lists the users whose names begin with prefix, in the order of the code
// points of their names; or, where prefix is empty, all of them, newest first.
// The one whose name is the prefix comes first.
func (c *Client) Users(ctx context.Context, prefix string) iter.Seq2[User, error] {
	query := url.Values{}
	if prefix != "" {
		query.Set("name", prefix)
	}
	return list[userPage](ctx, c, "/v1/admin/users", query)
}

// User is one user, or [NotFound].
func (c *Client) User(ctx context.Context, id flakepass.ID) (Person, error) {
	return get[Person](ctx, c, read("/v1/admin/users/"+id.String(), nil))
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
// nobody knows: look for the name.
func (c *Client) CreateUser(ctx context.Context, u NewUser) (User, error) {
	return ask[User](ctx, c, http.MethodPost, "/v1/admin/users", struct {
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
	Person *Person
	// Within is by when every instance acts by the change, if the server could not
	// tell the others of it; else 0, and they hear of it at once.
	Within time.Duration
}

// ChangeUser changes a user, and ends the login by that. What is so already is no
// change, and ends nothing. It fails with [NotFound], [ValidationFailed] or
// [LastAdmin]. After a 5xx nobody knows: call it again.
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
		v, err := decode[pending](body)
		return UserChanged{nil, v.within()}, err
	}
	v, err := decode[Person](body)
	if err != nil {
		return UserChanged{}, err
	}
	return UserChanged{&v, 0}, nil
}

// LogoutUser ends the login of a user, if there is one. within is as
// [Client.Logout] returns it. After an error other than [NotFound] assume that
// the login still lives, and try again.
func (c *Client) LogoutUser(ctx context.Context, id flakepass.ID, reason string) (within time.Duration, err error) {
	r, err := send(http.MethodPost, "/v1/admin/users/"+id.String()+"/logout", because{reason})
	if err != nil {
		return 0, err
	}
	return c.end(ctx, r)
}
