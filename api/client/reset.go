package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// A PasswordReset is a way for a user to set a password, once.
type PasswordReset struct {
	Token     ResetToken `json:"reset_token"`
	ExpiresAt wire.Time  `json:"expires_at"` // from then on it cannot be used
	Page      string     `json:"url"`        // where a person sets the password; "" if the operator has not said where people reach the server
}

// URL is the page with the token in it, so it is as secret; or "" if no page is known.
func (r PasswordReset) URL() string {
	if r.Page == "" {
		return ""
	}
	return r.Page + "#" + r.Token.Reveal()
}

// Complete reports whether all is there.
func (r PasswordReset) Complete() bool {
	return strings.HasPrefix(r.Token.Reveal(), "fpr_") && !r.ExpiresAt.IsZero()
}

// UnmarshalJSON takes the token out of the address of the page, and fails with an error that
// does not repeat the text.
func (r *PasswordReset) UnmarshalJSON(b []byte) error {
	type plain PasswordReset
	var p plain
	if json.Unmarshal(b, &p) != nil || p.Page != "" && !strings.HasSuffix(p.Page, "#"+p.Token.Reveal()) {
		return errors.New("client: a reset that cannot be read")
	}
	p.Page, _, _ = strings.Cut(p.Page, "#")
	*r = PasswordReset(p)
	return nil
}

// A ResetHow says how long a reset lasts, and why it is started.
type ResetHow struct {
	Life   time.Duration // 10 minutes to 24 hours, in whole seconds; 0: an hour
	Reason string        // why, for the record; may be empty
}

func (h ResetHow) seconds() int64 { return int64(h.Life / time.Second) }

// StartPasswordReset gives out a token with which the user sets a password, once. It takes the
// place of a token that was given out before. Until it is used nothing changes. It fails with
// [NotFound], [ValidationFailed] or [ReauthenticationRequired]. After a 5xx or no answer the result
// is unknown: start another.
func (c *Client) StartPasswordReset(ctx context.Context, id flakepass.ID, how ResetHow) (PasswordReset, error) {
	return ask[PasswordReset](ctx, c, http.MethodPost, "/v1/admin/users/"+id.String()+"/password-reset", struct {
		Life   int64  `json:"reset_lifetime_seconds,omitempty"`
		Reason string `json:"reason,omitempty"`
	}{how.seconds(), how.Reason})
}

// WithdrawPasswordReset ends the reset that was started for a user, if there is
// one. It fails with [NotFound] or [ValidationFailed]. After a 5xx or no answer
// assume that the token still works, and try again.
func (c *Client) WithdrawPasswordReset(ctx context.Context, id flakepass.ID, reason string) error {
	_, err := c.act(ctx, http.MethodDelete, "/v1/admin/users/"+id.String()+"/password-reset", because{reason})
	return err
}

// PasswordResets lists the started resets that can be used, newest first: those that
// issuer started, or all if it is 0.
func (c *Client) PasswordResets(ctx context.Context, issuer flakepass.ID) iter.Seq2[wire.OpenReset, error] {
	query := url.Values{}
	if issuer != 0 {
		query.Set("issued_by", issuer.String())
	}
	return list[wire.OpenReset](ctx, c, "/v1/admin/password-resets", "password_resets", query)
}

// WithdrawIssuedPasswordResets ends all resets that issuer has started so far and
// that can be used, and returns how many there were. It fails with [NotFound] or
// [ValidationFailed]. After a 5xx or no answer assume that some still work, and try
// again.
func (c *Client) WithdrawIssuedPasswordResets(ctx context.Context, issuer flakepass.ID, reason string) (int, error) {
	w, err := ask[wire.Withdrawn](ctx, c, http.MethodDelete, "/v1/admin/users/"+issuer.String()+"/issued-password-resets", because{reason})
	if err != nil {
		return 0, err
	}
	return *w.Withdrawn, nil
}

// ResetPassword sets the password of the user who was given that token, and ends all logins of this
// user. It begins no login. It fails with [ResetTokenInvalid], [AccountDisabled],
// [ValidationFailed], [RateLimited] or [Busy], after which nothing has changed. After
// [Unavailable], [InternalError] or no answer the result is unknown: log in to find out.
func (c *Client) ResetPassword(ctx context.Context, t ResetToken, next Password) error {
	_, err := c.act(ctx, http.MethodPost, "/v1/password-resets", struct {
		Token string `json:"reset_token"`
		New   string `json:"new_password"`
	}{t.Reveal(), next.reveal()}, open)
	return err
}

// An Invited is an account without a password, and how its owner sets the first.
type Invited struct {
	wire.User
	Reset PasswordReset `json:"password_reset"`
}

// Complete reports whether all is there.
func (i Invited) Complete() bool { return i.User.Complete() && i.Reset.Complete() }

// InviteUser makes an account without a password, and gives out a token with
// which its owner sets the first one. The Password of u must be empty. It fails as
// [Client.CreateUser] does.
func (c *Client) InviteUser(ctx context.Context, u NewUser, life time.Duration) (Invited, error) {
	if u.Password.reveal() != "" {
		return Invited{}, errors.New("client: an invited user has no password; leave it empty, or call CreateUser")
	}
	return ask[Invited](ctx, c, http.MethodPost, "/v1/admin/users", struct {
		Username string `json:"username"`
		Role     string `json:"role"`
		Reason   string `json:"reason,omitempty"`
		Life     int64  `json:"reset_lifetime_seconds,omitempty"`
	}{u.Username, u.Role, u.Reason, ResetHow{Life: life}.seconds()})
}
