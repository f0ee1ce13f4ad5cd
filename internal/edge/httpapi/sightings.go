package httpapi

import (
	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// Sightings hear of what may come in floods and changed nothing. Note must
// neither wait nor fail, and reports whether this is the first of its kind for a
// while. *audit.Tally is one.
type Sightings interface {
	Note(s audit.Sighting) (first bool)
}

// sight notes something for the record, and logs it. The action, the reason, and
// whom it is about are those of n.
func (s *server) sight(c *gin.Context, what string, n audit.Sighting, args ...any) {
	s.event(c, what, append([]any{"reason", n.Reason}, append(args, "event", n.Action)...)...)
	s.note(c, n)
}

// glimpse is sight for what costs a stranger nothing to repeat: only the first of
// its kind is logged.
func (s *server) glimpse(c *gin.Context, what string, n audit.Sighting, args ...any) {
	if s.note(c, n) {
		s.event(c, what, append([]any{"reason", n.Reason}, append(args, "event", n.Action)...)...)
	}
}

// note says who acts in n, as far as that is known here, and from where.
func (s *server) note(c *gin.Context, n audit.Sighting) (first bool) {
	if s.Sightings == nil {
		return true
	}
	if n.By == (audit.Actor{}) {
		n.By = audit.From(c.Request.Context())
	}
	n.By.Address = clientaddr.Text(s.address(c))
	return s.Sightings.Note(n)
}

// credentialRefused tells of a token that was refused, if that means something:
// one that is missing, malformed or unknown is what every stranger can send, and
// is about nobody.
func (s *server) credentialRefused(c *gin.Context, err error) {
	if r, ok := operator.Refused(err); ok {
		s.glimpse(c, r.What, r.Sighting, r.Args...)
	}
}
