package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// Policies look at the policy and change it.
type Policies interface {
	Current(ctx context.Context) (policy.Policy, error)
	History(ctx context.Context, before int64, limit int) ([]policy.Policy, error)
	Set(ctx context.Context, by audit.Actor, c operator.PolicyChange) (policy.Policy, policy.Effect, error)
	Revert(ctx context.Context, by audit.Actor, version int64, c operator.PolicyChange) (policy.Policy, policy.Effect, error)
}

// policyRoutes are the operator's routes to the policy.
func (s *server) policyRoutes(g gin.IRouter) {
	g.GET("/policy", s.do(s.policy))
	g.PUT("/policy", s.do(s.setPolicy))
	g.GET("/policy/history", s.do(s.policyHistory))
	g.POST("/policy/revert", s.do(s.revertPolicy))
}

type policyBody struct {
	Idle      int64      `json:"idle_timeout_seconds"`
	Absolute  int64      `json:"absolute_lifetime_seconds"`
	Touch     int64      `json:"touch_interval_seconds"`
	Schedule  string     `json:"sweep_schedule"`
	Limits    *limit.Doc `json:"limits,omitempty"` // none of those that cannot be read
	Version   int64      `json:"version"`
	UpdatedAt string     `json:"updated_at,omitempty"` // none of the first version, which nobody has set
	UpdatedBy string     `json:"updated_by,omitempty"`
	Note      string     `json:"note"`
}

func bodyOf(p *policy.Policy) policyBody {
	seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
	b := policyBody{Idle: seconds(p.Idle), Absolute: seconds(p.Absolute), Touch: seconds(p.Touch), Schedule: p.Schedule,
		Version: p.Version, Note: p.Note}
	if p.LimitsErr == nil {
		limits := limit.DocOf(&p.Limits)
		b.Limits = &limits
	}
	if p.Changed() {
		b.UpdatedAt, b.UpdatedBy = stamp(p.UpdatedAt), p.UpdatedBy
	}
	return b
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
	c.JSON(http.StatusOK, bodyOf(&p))
	return nil
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
	answer := struct {
		Policies []policyBody `json:"policies"`
		Next     string       `json:"next_cursor,omitempty"`
	}{Policies: []policyBody{}}
	for i := range list[:min(len(list), p.Limit)] {
		answer.Policies = append(answer.Policies, bodyOf(&list[i]))
	}
	if len(list) > p.Limit {
		answer.Next = strconv.FormatInt(list[p.Limit-1].Version, 10)
	}
	c.JSON(http.StatusOK, answer)
	return nil
}
