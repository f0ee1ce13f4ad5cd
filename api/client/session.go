package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
)

type because struct {
	Reason string `json:"reason,omitempty"`
}

// A UserSession is a login that lives, and whose it is.
type UserSession struct {
	Session
	UserID   flakepass.ID `json:"user_id"`
	Username string       `json:"username"`
	Role     string       `json:"role"`
}

func (s UserSession) complete() bool {
	return s.Session.complete() && s.UserID != 0 && s.Username != "" && s.Role != ""
}

type sessionPage struct {
	Sessions []UserSession `json:"sessions"`
	next
}

func (p sessionPage) complete() bool         { return whole(p.Sessions) }
func (p sessionPage) entries() []UserSession { return p.Sessions }

// Sessions lists the logins that live, newest first.
func (c *Client) Sessions(ctx context.Context) iter.Seq2[UserSession, error] {
	return list[sessionPage](ctx, c, "/v1/admin/sessions", nil)
}

// Session is one login that lives. One that is over is [NotFound].
func (c *Client) Session(ctx context.Context, id flakepass.ID) (UserSession, error) {
	return get[UserSession](ctx, c, read("/v1/admin/sessions/"+id.String(), nil))
}

// EndSession ends a login by its ID. One that is over already is no error; one of
// which nothing is known is [NotFound]. within is as [Client.Logout] returns it.
// After any other error assume that it still lives, and try again.
func (c *Client) EndSession(ctx context.Context, id flakepass.ID, reason string) (within time.Duration, err error) {
	r, err := send(http.MethodDelete, "/v1/admin/sessions/"+id.String(), because{reason})
	if err != nil {
		return 0, err
	}
	r.again = true
	return c.end(ctx, r)
}

// A LoggedOutAll says what [Client.LogoutAll] ended.
type LoggedOutAll struct {
	Ended  *Estimate     // how many logins lived until then; nil if they could not be counted in time
	Within time.Duration // by when every instance refuses them
}

// LogoutAll ends every login that has begun so far, that of this client too. After
// an error assume that they still live, and try again.
func (c *Client) LogoutAll(ctx context.Context, reason string) (LoggedOutAll, error) {
	v, err := ask[wireAll](ctx, c, http.MethodPost, "/v1/admin/logout-all", because{reason})
	return LoggedOutAll{v.Ended, v.within()}, err
}

type wireAll struct {
	Ended *Estimate `json:"ended"`
	pending
}

func (a wireAll) complete() bool {
	return a.pending.complete() && (a.Ended == nil || a.Ended.sane())
}
