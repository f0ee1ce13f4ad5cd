package httpapi

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// ended answers for what has ended logins, and has no document to answer with.
func (s *server) ended(c *gin.Context, err error) error {
	switch {
	case errors.Is(err, session.ErrUnpublished):
		s.pending(c)
	case err != nil:
		return gone(err)
	default:
		c.Status(http.StatusNoContent)
	}
	return nil
}

// pending says that what was done is effective within the bound.
func (s *server) pending(c *gin.Context) {
	c.JSON(http.StatusAccepted, struct {
		Within wire.Millis `json:"effective_within_ms"`
	}{wire.Millis(s.Bound)})
}

// gone makes what is not there a resource that is not there.
func gone(err error) error {
	if errors.Is(err, account.ErrNotFound) || errors.Is(err, session.ErrNotFound) {
		return errNotFound
	}
	return err
}
