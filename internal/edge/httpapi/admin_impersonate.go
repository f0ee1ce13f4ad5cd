package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// AdminImpersonations begins sessions in which an admin acts for a user. *operator.Users is one.
type AdminImpersonations interface {
	Impersonate(ctx context.Context, by audit.Actor, id idworker.ID, reason string) (session.Opened, error)
}

func (s *server) impersonate(c *gin.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	var in struct {
		Reason text `json:"reason"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	begun, err := s.People.Acts.Impersonate(c.Request.Context(), s.operator(c), id, string(in.Reason))
	if err != nil {
		return gone(err)
	}
	who := &begun.Identity
	c.JSON(http.StatusCreated, struct {
		Token string `json:"token"`
		wire.Impersonation
	}{begun.Token.Reveal(), wire.Impersonation{SessionID: who.SessionID, UserID: who.UserID, Username: who.Username, Act: wire.ActOf(who.Act), ExpiresAt: wire.At(who.ExpiresAt)}})
	return nil
}
