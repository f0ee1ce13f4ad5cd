package httpapi

import (
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// auditRoutes are the operator's routes to the record.
func (s *server) auditRoutes(g gin.IRouter) {
	g.GET("/audit", s.do(s.auditEvents))
}

func (s *server) auditEvents(c *gin.Context) error {
	return listing(c, "events", func(p page) ([]audit.Event, error) {
		f, err := filterOf(p.Values)
		if err != nil {
			return nil, err
		}
		f.Before, f.Limit = p.Cursor, p.Limit
		return s.Events.List(c.Request.Context(), f)
	}, render.Event, func(e *audit.Event) string { return e.ID.String() }, "action", "actor", "target", "since", "until")
}

// filterOf reads which events are wanted, and says everything that is wrong
// with it at once. A number is an ID, anything else a name, a username in any
// spelling.
func filterOf(values url.Values) (f audit.Filter, err error) {
	wrong := &invalid.Error{}
	each := func(name, rule string, read func(string) bool) {
		if values.Has(name) && !read(values.Get(name)) {
			wrong.Add(name, "malformed", rule)
		}
	}
	who := func(id *idworker.ID, name *string) func(string) bool {
		return func(s string) (ok bool) {
			*id, *name, ok = operator.Party(s)
			return ok
		}
	}
	when := func(to *time.Time) func(string) bool {
		return func(s string) bool {
			t, err := wire.ParseTime(s)
			*to = t
			return err == nil
		}
	}
	each("action", "must be the name of an action, such as policy.changed; docs/logging.md has all", func(s string) bool {
		f.Action = audit.Action(s)
		return audit.IsAction(s)
	})
	each("actor", "must be an ID or a name", who(&f.Actor, &f.ActorName))
	each("target", "must be an ID or a name", who(&f.Target, &f.TargetName))
	each("since", "must be an instant as RFC 3339 has it, such as 2026-11-21T09:00:00Z", when(&f.Since))
	each("until", "must be an instant as RFC 3339 has it, such as 2026-11-21T09:00:00Z", when(&f.Until))
	return f, wrong.OrNil()
}
