package httpapi

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// AdminSessions looks at logins and ends them.
type AdminSessions interface {
	List(ctx context.Context, class string, before idworker.ID, limit int) (operator.Page, error)
	Get(ctx context.Context, id idworker.ID) (session.Login, error)
	End(ctx context.Context, by audit.Actor, id idworker.ID, reason string) (session.Session, error)
	EndAll(ctx context.Context, by audit.Actor, reason string) (operator.EndedAll, error)
}

// AdminStats counts.
type AdminStats interface {
	Count(ctx context.Context) (operator.Numbers, error)
}

func (s *server) listSessions(c *gin.Context) error {
	p, values, err := query(c, "device_class")
	if err != nil {
		return err
	}
	class := values.Get("device_class")
	if err := chosen(class, values.Has("device_class")); err != nil {
		return err
	}
	found, err := s.People.Sessions.List(c.Request.Context(), class, p.Cursor, p.Limit)
	if err != nil {
		return err
	}
	next := ""
	if found.Next != 0 {
		next = found.Next.String()
	}
	c.JSON(http.StatusOK, list{"sessions", render.All(found.Logins, render.Session), next})
	return nil
}

// chosen refuses an empty class of devices that was given: who has none at hand does not
// mean all logins.
func chosen(class string, given bool) error {
	if given && class == "" {
		return invalid.Of("device_class", "malformed", "must not be empty; leave it out for all devices")
	}
	return nil
}

func (s *server) getSession(c *gin.Context) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	l, err := s.People.Sessions.Get(c.Request.Context(), id)
	if err != nil {
		return gone(err)
	}
	c.JSON(http.StatusOK, render.Session(&l))
	return nil
}

func (s *server) endSession(c *gin.Context) error {
	id, reason, err := idAndReason(c)
	if err != nil {
		return err
	}
	_, err = s.People.Sessions.End(c.Request.Context(), s.operator(c), id, reason)
	return s.ended(c, err)
}

func (s *server) logoutAll(c *gin.Context) error {
	reason, err := reasonOf(c)
	if err != nil {
		return err
	}
	done, err := s.People.Sessions.EndAll(c.Request.Context(), s.operator(c), reason)
	if err != nil {
		return err
	}
	out := struct {
		Ended  *wire.Estimate `json:"ended,omitempty"`
		Within wire.Millis    `json:"effective_within_ms"`
	}{(*wire.Estimate)(done.Lived), wire.Millis(s.Bound)}
	c.JSON(http.StatusOK, out)
	return nil
}

func (s *server) stats(c *gin.Context) error {
	n, err := s.People.Stats.Count(c.Request.Context())
	if err != nil {
		return err
	}
	of, classes := render.Estimate, make([]wire.ClassLogins, 0, len(n.Classes))
	for _, class := range slices.Sorted(maps.Keys(n.Classes)) {
		classes = append(classes, wire.ClassLogins{DeviceClass: class, Logins: of(n.Classes[class])})
	}
	c.JSON(http.StatusOK, wire.Stats{
		ByClass:  classes,
		Users:    of(n.Users),
		Roles:    wire.Roles{User: of(n.Roles[account.RoleUser]), Service: of(n.Roles[account.RoleService]), Admin: of(n.Roles[account.RoleAdmin])},
		Disabled: of(n.Disabled), LiveLogins: of(n.Live),
	})
	return nil
}

// pathID is the ID in the path; what is none names nothing.
func pathID(c *gin.Context) (idworker.ID, error) {
	id, err := idworker.ParseID(c.Param("id"))
	if err != nil {
		return 0, errNotFound
	}
	return id, nil
}

// reasonOf is the reason in a body that need not be there.
func reasonOf(c *gin.Context) (string, error) {
	if c.Request.ContentLength == 0 {
		return "", nil
	}
	var in struct {
		Reason text `json:"reason"`
	}
	err := bind(c, &in)
	return string(in.Reason), err
}

// idAndReason are of a request to do something to what the path names.
func idAndReason(c *gin.Context) (id idworker.ID, reason string, err error) {
	if id, err = pathID(c); err != nil {
		return 0, "", err
	}
	reason, err = reasonOf(c)
	return id, reason, err
}

// A given is a value that a request may leave out: null is none.
type given[T any] struct{ value *T }

// UnmarshalJSON takes what T takes, and not null.
func (g *given[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return errBody
	}
	g.value = new(T)
	return json.Unmarshal(b, g.value, json.RejectUnknownMembers(true))
}
