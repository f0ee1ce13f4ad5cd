package httpapi

import (
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/problem"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// only lets those through who have one of the roles. It stands behind admit.
func (s *server) only(roles ...account.Role) gin.HandlerFunc {
	return s.do(func(c *gin.Context) error {
		who, _ := flakepass.FromContext(c.Request.Context())
		if !slices.Contains(roles, account.Role(who.Role)) {
			return s.forbidden(c, flakepass.ErrForbidden)
		}
		err := s.needsFactor(c, who)
		if err != nil {
			c.Abort()
		}
		return err
	})
}

// forbidden ends the request of a caller who is known and may not do this. It records and
// logs that (OWASP ASVS 5.0, 16.3.2), and returns why.
func (s *server) forbidden(c *gin.Context, why error) error {
	who, _ := flakepass.FromContext(c.Request.Context())
	n, args := operator.Forbidden(actor(c, who), who, c.Request.Method+" "+c.FullPath())
	s.logIncident(c, "forbidden", n, args...)
	c.Abort()
	return why
}

// actor is the caller, for the record. The addresses of people who act on their own
// accounts are not kept there.
func actor(c *gin.Context, who flakepass.Identity) audit.Actor {
	return audit.Actor{
		ID: session.UserOf(who), Session: idworker.ID(who.SessionID), Key: keyID(c), Name: who.Username, Via: audit.ViaAPI, RequestID: c.Writer.Header().Get(problem.RequestIDHeader),
	}
}

// keyID is the ID of the service key by which the request is made, or 0.
func keyID(c *gin.Context) idworker.ID {
	id, _ := c.Value(serviceKeyID).(idworker.ID)
	return id
}

// operator is who acts by a request that only lets through, and from where.
func (s *server) operator(c *gin.Context) audit.Actor {
	who, _ := flakepass.FromContext(c.Request.Context())
	by := actor(c, who)
	by.Address = clientaddr.Text(s.address(c))
	return by
}
