package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// reauthenticate takes the password and the code of somebody who is logged in once
// more, before what a token alone is not enough for.
func (s *server) reauthenticate(c *gin.Context) error {
	var in struct {
		Password text `json:"password"`
		Code     text `json:"code"`
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	about := proving{done: "reauthenticated", not: "not reauthenticated", event: audit.Reauthenticated}
	given := account.NewPassword(string(in.Password))
	return s.prove(c, about, given, func(ctx context.Context, by account.Asker, who flakepass.Identity) (func(), error) {
		err := s.Logins.Reauthenticate(ctx, by, session.UserOf(who), given, secondfactor.NewCode(string(in.Code)))
		return func() { c.Status(http.StatusNoContent) }, err
	})
}
