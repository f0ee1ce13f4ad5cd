package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/edge/render"
)

// Sweeps are the passes of the sweep. Request has one begin, and Passes returns
// at most limit of those with IDs below before (0: the newest), newest first.
type Sweeps interface {
	Request(ctx context.Context, by audit.Actor) (sweep.Report, error)
	Passes(ctx context.Context, before idworker.ID, limit int) ([]sweep.Report, error)
}

func (s *server) sweepRoutes(g gin.IRouter) {
	g.GET("/sweeps", s.do(s.sweeps))
	g.POST("/sweeps", s.do(s.requestSweep))
}

func (s *server) sweeps(c *gin.Context) error {
	return listing(c, "sweeps", func(p page) ([]sweep.Report, error) {
		return s.Sweeps.Passes(c.Request.Context(), p.Cursor, p.Limit)
	}, render.Sweep, func(r *sweep.Report) string { return r.ID.String() })
}

// requestSweep answers before the pass has done anything: it may take long.
func (s *server) requestSweep(c *gin.Context) error {
	r, err := s.Sweeps.Request(c.Request.Context(), s.operator(c))
	if err != nil {
		return err
	}
	return answer(c, http.StatusAccepted, render.Sweep(&r))
}
