package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// AdminOpenResets lists the started resets that can be used, by who started them,
// and withdraws all of one user. *operator.Users is one.
type AdminOpenResets interface {
	ListResets(ctx context.Context, issuer, before idworker.ID, limit int) ([]account.OpenReset, error)
	WithdrawIssued(ctx context.Context, by audit.Actor, issuer idworker.ID, reason string) (int, error)
}

type openReset struct {
	ID        string `json:"id"`
	UserID    string `json:"user_id"`
	Username  string `json:"username"`
	Issuer    party  `json:"issuer"`
	IssuedAt  string `json:"issued_at"`
	ExpiresAt string `json:"expires_at"`
}

func (s *server) listResets(c *gin.Context) error {
	p, values, err := query(c, "issued_by")
	if err != nil {
		return err
	}
	var issuer idworker.ID
	if values.Has("issued_by") {
		if issuer, err = idworker.ParseID(values.Get("issued_by")); err != nil {
			return &account.InvalidError{Fields: []account.FieldError{{Field: "issued_by", Code: "malformed", Message: "must be the ID of a user"}}}
		}
	}
	open, err := s.People.Open.ListResets(c.Request.Context(), issuer, p.Cursor, p.Limit+1)
	if err != nil {
		return err
	}
	var out struct {
		Resets     []openReset `json:"password_resets"`
		NextCursor string      `json:"next_cursor,omitempty"`
	}
	out.Resets = make([]openReset, min(len(open), p.Limit))
	for i := range out.Resets {
		r := &open[i]
		out.Resets[i] = openReset{
			r.ID.String(), r.UserID.String(), r.Username, partyOf(r.Issuer.ID, r.Issuer.Name),
			stamp(idworker.Default().Time(r.ID)), stamp(r.ExpiresAt),
		}
	}
	if len(open) > p.Limit {
		out.NextCursor = out.Resets[p.Limit-1].ID
	}
	c.JSON(http.StatusOK, out)
	return nil
}

func (s *server) withdrawIssued(c *gin.Context) error {
	id, reason, err := idAndReason(c)
	if err != nil {
		return err
	}
	n, err := s.People.Open.WithdrawIssued(c.Request.Context(), s.operator(c), id, reason)
	if err != nil {
		return gone(err)
	}
	c.JSON(http.StatusOK, struct {
		Withdrawn int `json:"withdrawn"`
	}{n})
	return nil
}
