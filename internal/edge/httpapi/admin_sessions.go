package httpapi

import (
	"maps"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/edge/render"
)

func (s *server) listSessions(c *gin.Context) error {
	p, err := query(c, "device_class")
	if err != nil {
		return err
	}
	class := p.Values.Get("device_class")
	if err := chosen(class, p.Values.Has("device_class")); err != nil {
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
	return answer(c, http.StatusOK, list{"sessions", render.All(found.Logins, render.Session), next})
}

// chosen refuses an empty class of devices that was given: who has none at hand does not
// mean all logins.
func chosen(class string, given bool) error {
	if given && class == "" {
		return invalid.Of("device_class", "malformed", "must not be empty; leave it out for all devices")
	}
	return nil
}

func (s *server) getSession(c *gin.Context, id idworker.ID) error {
	l, err := s.People.Sessions.Get(c.Request.Context(), id)
	if err != nil {
		return gone(err)
	}
	return answer(c, http.StatusOK, render.Session(&l))
}

func (s *server) endSession(c *gin.Context, id idworker.ID, reason string) error {
	_, err := s.People.Sessions.End(c.Request.Context(), s.operator(c), id, reason)
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
	return answer(c, http.StatusOK, wire.LoggedOutAll{Ended: (*wire.Estimate)(done.Lived), Within: wire.Millis(s.Bound)})
}

func (s *server) stats(c *gin.Context) error {
	n, err := s.People.Stats.Count(c.Request.Context())
	if err != nil {
		return err
	}
	role := func(r account.Role) wire.Estimate { return wire.Estimate(n.Roles[r]) }
	return answer(c, http.StatusOK, wire.Stats{
		ByClass: render.All(slices.Sorted(maps.Keys(n.Classes)), func(class *string) wire.ClassLogins {
			return wire.ClassLogins{DeviceClass: *class, Logins: wire.Estimate(n.Classes[*class])}
		}),
		Users: wire.Estimate(n.Users), Disabled: wire.Estimate(n.Disabled), LiveLogins: wire.Estimate(n.Live),
		Roles: wire.Roles{User: role(account.RoleUser), Service: role(account.RoleService), Admin: role(account.RoleAdmin)},
	})
}

// ofID is for a handler of what the ID in the path names; what is no ID names nothing.
func ofID(h func(c *gin.Context, id idworker.ID) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := idworker.ParseID(c.Param("id"))
		if err != nil {
			return errNotFound
		}
		return h(c, id)
	}
}

// reasonOf is the reason in a body that need not be there.
func reasonOf(c *gin.Context) (string, error) {
	if none(c.Request) {
		return "", nil
	}
	var in struct {
		Reason text `json:"reason"`
	}
	err := bind(c, &in)
	return string(in.Reason), err
}

// ofIDAndReason is ofID for a handler that does something to what the path names.
func ofIDAndReason(h func(c *gin.Context, id idworker.ID, reason string) error) func(*gin.Context) error {
	return ofID(func(c *gin.Context, id idworker.ID) error {
		reason, err := reasonOf(c)
		if err != nil {
			return err
		}
		return h(c, id, reason)
	})
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

func (s *server) impersonate(c *gin.Context, id idworker.ID) error {
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
	return answer(c, http.StatusCreated, struct {
		Token string `json:"token"`
		wire.Impersonation
	}{begun.Token.Reveal(), wire.Impersonation{SessionID: who.SessionID, UserID: who.UserID, Username: who.Username, Act: wire.ActOf(who.Act), ExpiresAt: wire.At(who.ExpiresAt)}})
}
