package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/edge/render"
)

func (s *server) peopleRoutes(g gin.IRouter) {
	g.GET("/users", s.do(s.listUsers))
	g.POST("/users", s.do(s.createUser))
	g.GET("/users/:id", s.do(ofID(s.getUser)))
	g.PATCH("/users/:id", s.do(ofID(s.changeUser)))
	g.DELETE("/users/:id", s.do(ofID(s.deleteUser)))
	g.POST("/users/:id/logout", s.do(ofID(s.logoutUser)))
	g.POST("/users/:id/impersonate", s.do(ofID(s.impersonate)))
	g.POST("/users/:id/password-reset", s.do(ofID(s.startReset)))
	g.DELETE("/users/:id/password-reset", s.do(ofIDAndReason(s.withdrawReset)))
	g.DELETE("/users/:id/issued-password-resets", s.do(ofIDAndReason(s.withdrawIssued)))
	g.GET("/password-resets", s.do(s.listResets))
	g.DELETE("/users/:id/second-factor", s.do(ofIDAndReason(s.removeUsersFactor)))
	g.GET("/sessions", s.do(s.listSessions))
	g.GET("/sessions/:id", s.do(ofID(s.getSession)))
	g.DELETE("/sessions/:id", s.do(ofIDAndReason(s.endSession)))
	g.POST("/logout-all", s.do(s.logoutAll))
	g.GET("/stats", s.do(s.stats))
}

func (s *server) listUsers(c *gin.Context) error {
	prefix, known := c.Query("name"), []string{"name"}
	if prefix != "" {
		known = append(known, "cursor") // which is a name then
	}
	return listing(c, "users", func(p page) ([]account.User, error) {
		return s.People.Users.List(c.Request.Context(), prefix, p.Values.Get("cursor"), p.Limit)
	}, render.User, func(u *account.User) string { return operator.UserCursor(prefix, u) }, known...)
}

func (s *server) createUser(c *gin.Context) error {
	var in struct {
		Username text        `json:"username"`
		Password given[text] `json:"password"`
		Role     text        `json:"role"`
		Reason   text        `json:"reason"`
		resetWish
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	if in.Password.value == nil {
		return s.inviteUser(c, string(in.Username), account.Role(in.Role), in.life(), string(in.Reason))
	}
	if in.Lifetime.value != nil {
		return errUninvited
	}
	u, err := s.People.Users.Create(c.Request.Context(), s.operator(c), string(in.Username), account.NewPassword(string(*in.Password.value)),
		account.Role(in.Role), string(in.Reason))
	if err != nil {
		return err
	}
	return answer(c, http.StatusCreated, render.User(&u))
}

func (s *server) getUser(c *gin.Context, id idworker.ID) error {
	p, err := s.People.Users.Get(c.Request.Context(), id)
	if err != nil {
		return gone(err)
	}
	return answer(c, http.StatusOK, render.Person(&p))
}

func (s *server) changeUser(c *gin.Context, id idworker.ID) error {
	var in struct {
		Role     given[text] `json:"role"`
		Disabled given[bool] `json:"disabled"`
		namesJSON
	}
	if err := bind(c, &in); err != nil {
		return err
	}
	if in.any() {
		if in.Role.value != nil || in.Disabled.value != nil {
			return errApart
		}
		if _, err := s.People.Names.ChangeNames(c.Request.Context(), s.operator(c), id, in.change()); err != nil {
			return gone(err)
		}
		return s.getUser(c, id)
	}
	change := operator.UserChange{Disabled: in.Disabled.value, Reason: string(in.Reason)}
	if in.Role.value != nil {
		change.Role = new(account.Role(*in.Role.value))
	}
	p, _, err := s.People.Users.Change(c.Request.Context(), s.operator(c), id, change)
	if err != nil {
		return s.ended(c, err)
	}
	return answer(c, http.StatusOK, render.Person(&p))
}

func (s *server) logoutUser(c *gin.Context, id idworker.ID) error {
	var in struct {
		Class  given[text] `json:"device_class"`
		Reason text        `json:"reason"`
	}
	if !none(c.Request) {
		if err := bind(c, &in); err != nil {
			return err
		}
	}
	class := ""
	if in.Class.value != nil {
		class = string(*in.Class.value)
	}
	if err := chosen(class, in.Class.value != nil); err != nil {
		return err
	}
	_, err := s.People.Logout.Logout(c.Request.Context(), s.operator(c), id, class, string(in.Reason))
	return s.ended(c, err)
}

func (s *server) instanceRoutes(g gin.IRouter) { g.GET("/instances", s.do(s.instances)) }

func (s *server) instances(c *gin.Context) error {
	all, err := s.Instances.List(c.Request.Context(), fleet.Most)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, list{"instances", render.All(all, render.Instance), ""})
}
