package httpapi

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// policyRoutes are the operator's routes to the policy.
func (s *server) policyRoutes(g gin.IRouter) {
	g.GET("/policy", s.do(s.policy))
	g.PUT("/policy", s.do(s.setPolicy))
	g.GET("/policy/history", s.do(s.policyHistory))
	g.POST("/policy/revert", s.do(s.revertPolicy))
}

// tagOf is the strong entity tag of the policy of that version.
func tagOf(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

func (s *server) policy(c *gin.Context) error {
	p, err := s.Policies.Current(c.Request.Context())
	if err != nil {
		return err
	}
	c.Header("ETag", tagOf(p.Version))
	// What is no list of tags asks for nothing: the whole answer is never wrong.
	if known, _, _ := conditionOf(c.Request.Header, "If-None-Match"); known.weak(tagOf(p.Version)) {
		c.Status(http.StatusNotModified)
		return nil
	}
	return answer(c, http.StatusOK, render.Policy(&p))
}

func (s *server) policyHistory(c *gin.Context) error {
	p, _, err := query(c)
	if err != nil {
		return err
	}
	list, err := s.Policies.History(c.Request.Context(), int64(p.Cursor), p.Limit+1)
	if err != nil {
		return err
	}
	return listed(c, "policies", p, list, render.Policy, func(v *policy.Policy) string { return strconv.FormatInt(v.Version, 10) })
}
