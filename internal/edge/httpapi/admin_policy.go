package httpapi

import (
	"net/http"
	"strconv"
	"strings"

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
	return listing(c, "policies", func(p page) ([]policy.Policy, error) {
		return s.Policies.History(c.Request.Context(), int64(p.Cursor), p.Limit)
	}, render.Policy, func(v *policy.Policy) string { return strconv.FormatInt(v.Version, 10) })
}

// condition is what a header such as If-Match asks for (RFC 9110 section 13.1):
// any representation, or one of those tags.
type condition struct {
	any  bool
	tags []entityTag
}

// An entityTag names a representation (RFC 9110 section 8.8.3). Opaque has the
// quotes.
type entityTag struct {
	opaque string
	weak   bool
}

// strong reports whether the condition holds for the representation with that
// tag, by the strong comparison: a weak tag never matches.
func (c condition) strong(opaque string) bool {
	for _, t := range c.tags {
		if !t.weak && t.opaque == opaque {
			return true
		}
	}
	return c.any
}

// weak is the same by the weak comparison.
func (c condition) weak(opaque string) bool {
	for _, t := range c.tags {
		if t.opaque == opaque {
			return true
		}
	}
	return c.any
}

// conditionOf reads a conditional header. Several lines are one list. given is
// false where there is none, or nothing in it; ok is false where it is no list
// of entity tags.
func conditionOf(h http.Header, name string) (c condition, given, ok bool) {
	rest := strings.Trim(strings.Join(h.Values(name), ","), " \t,")
	if rest == "" {
		return c, false, true
	}
	if rest == "*" {
		return condition{any: true}, true, true
	}
	for rest != "" {
		var t entityTag
		rest, t.weak = strings.CutPrefix(rest, "W/") // a small w is none
		end := -1
		if strings.HasPrefix(rest, `"`) {
			end = strings.IndexByte(rest[1:], '"') + 1
		}
		if end < 1 || strings.ContainsFunc(rest[:end], func(c rune) bool { return c <= ' ' || c == 0x7f }) {
			return condition{}, true, false
		}
		t.opaque, rest = rest[:end+1], rest[end+1:]
		c.tags = append(c.tags, t)
		next := strings.TrimLeft(rest, " \t,")
		if next != "" && !strings.Contains(rest[:len(rest)-len(next)], ",") {
			return condition{}, true, false
		}
		rest = next
	}
	return c, true, true
}
