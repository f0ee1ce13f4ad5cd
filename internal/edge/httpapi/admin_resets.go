package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// resetPage is where a person sets a password in a browser. The token goes into
// the fragment, which a browser does not send.
const resetPage = "/console/password"

// A resetWish is for how long a reset is to be usable.
type resetWish struct {
	Lifetime given[int64] `json:"reset_lifetime_seconds"`
}

// life is 0 for one that was not said. What is too short or too
// long stays so.
func (w resetWish) life() time.Duration {
	if w.Lifetime.value == nil {
		return 0
	}
	seconds := min(max(*w.Lifetime.value, 0), int64(account.MaxResetLife/time.Second)+1)
	return max(time.Duration(seconds)*time.Second, 1) // 0 would be one that was not said
}

type startedReset struct {
	Token     string    `json:"reset_token"`
	URL       string    `json:"url,omitempty"`
	ExpiresAt wire.Time `json:"expires_at"`
}

func (s *server) resetOf(r operator.StartedReset) startedReset {
	out := startedReset{Token: r.Token.Reveal(), ExpiresAt: wire.At(r.ExpiresAt)}
	if s.PublicURL != "" {
		out.URL = s.PublicURL + resetPage + "#" + out.Token
	}
	return out
}

func (s *server) startReset(c *gin.Context, id idworker.ID) error {
	var in struct {
		resetWish
		Reason text `json:"reason"`
	}
	if !none(c.Request) {
		if err := bind(c, &in); err != nil {
			return err
		}
	}
	r, err := s.People.Resets.StartReset(c.Request.Context(), s.operator(c), id, in.life(), string(in.Reason))
	if err != nil {
		return gone(err)
	}
	return answer(c, http.StatusCreated, s.resetOf(r))
}

func (s *server) withdrawReset(c *gin.Context, id idworker.ID, reason string) error {
	if err := s.People.Resets.WithdrawReset(c.Request.Context(), s.operator(c), id, reason); err != nil {
		return gone(err)
	}
	c.Status(http.StatusNoContent)
	return nil
}

// inviteUser answers for a new account whose owner sets the first password.
func (s *server) inviteUser(c *gin.Context, name string, role account.Role, life time.Duration, reason string) error {
	u, r, err := s.People.Resets.Invite(c.Request.Context(), s.operator(c), name, role, life, reason)
	if err != nil {
		return err
	}
	return answer(c, http.StatusCreated, struct {
		wire.User
		Reset startedReset `json:"password_reset"`
	}{render.User(&u), s.resetOf(r)})
}

// errUninvited is of a request that says for how long a reset is to be usable,
// and gives a password.
var errUninvited = invalid.Of("reset_lifetime_seconds", "invalid", "is for an account without a password; leave out one of the two")

func (s *server) listResets(c *gin.Context) error {
	return listing(c, "password_resets", func(p page) (open []account.OpenReset, err error) {
		var issuer idworker.ID
		if p.Values.Has("issued_by") {
			if issuer, err = idworker.ParseID(p.Values.Get("issued_by")); err != nil {
				return nil, invalid.Of("issued_by", "malformed", "must be the ID of a user")
			}
		}
		return s.People.Open.ListResets(c.Request.Context(), issuer, p.Cursor, p.Limit)
	}, render.Reset, func(r *account.OpenReset) string { return r.ID.String() }, "issued_by")
}

func (s *server) withdrawIssued(c *gin.Context, id idworker.ID, reason string) error {
	n, err := s.People.Open.WithdrawIssued(c.Request.Context(), s.operator(c), id, reason)
	if err != nil {
		return gone(err)
	}
	return answer(c, http.StatusOK, wire.Withdrawn{Withdrawn: &n})
}
