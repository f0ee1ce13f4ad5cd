package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/problem"
)

type status struct {
	Status   string   `json:"status"`
	Warnings []string `json:"warnings,omitempty"`
}

func (s *server) healthz(c *gin.Context) error {
	c.JSON(http.StatusOK, status{Status: "ok"})
	return nil
}

// readyz says whether a load balancer should send requests here.
func (s *server) readyz(c *gin.Context) error {
	noStore(c)
	if s.Ready != nil {
		if reasons := s.Ready(c.Request.Context()); len(reasons) > 0 {
			problem.Write(c.Writer, problem.Problem{
				Status: http.StatusServiceUnavailable, Code: "not_ready", Title: "not ready",
				Reasons: reasons, RetryAfter: time.Second,
			})
			return nil
		}
	}
	out := status{Status: "ready"}
	if s.Warnings != nil {
		out.Warnings = s.Warnings()
	}
	c.JSON(http.StatusOK, out)
	return nil
}

func (s *server) spec(c *gin.Context) error {
	c.Data(http.StatusOK, "application/yaml", s.Spec)
	return nil
}
