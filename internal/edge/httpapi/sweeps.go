package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/sweep"
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

// sweepPass is a pass as an answer has it.
type sweepPass struct {
	ID          string `json:"id"`
	Instance    string `json:"instance"`
	RequestedBy string `json:"requested_by,omitempty"`
	StartedAt   string `json:"started_at"`
	FinishedAt  string `json:"finished_at,omitempty"`
	Outcome     string `json:"outcome"`
	Cleared     int64  `json:"cleared"`
	FailedRows  int64  `json:"failed_rows"`
	LongestMS   int64  `json:"longest_batch_ms"`
	Detail      string `json:"detail"`
}

func passOf(r sweep.Report) sweepPass {
	p := sweepPass{
		ID: r.ID.String(), Instance: r.Instance, RequestedBy: r.RequestedBy, StartedAt: stamp(r.Started), Outcome: string(r.Outcome),
		Cleared: r.Cleared, FailedRows: r.FailedRows, LongestMS: r.Longest.Milliseconds(), Detail: r.Detail,
	}
	if !r.Finished.IsZero() {
		p.FinishedAt = stamp(r.Finished)
	}
	return p
}

func (s *server) sweeps(c *gin.Context) error {
	at, _, err := query(c)
	if err != nil {
		return err
	}
	list, err := s.Sweeps.Passes(c.Request.Context(), at.Cursor, at.Limit+1)
	if err != nil {
		return err
	}
	answer := struct {
		Sweeps []sweepPass `json:"sweeps"`
		Next   string      `json:"next_cursor,omitempty"`
	}{Sweeps: []sweepPass{}}
	for i, r := range list {
		if i == at.Limit {
			answer.Next = list[i-1].ID.String()
			break
		}
		answer.Sweeps = append(answer.Sweeps, passOf(r))
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

// requestSweep answers before the pass has done anything: it may take long.
func (s *server) requestSweep(c *gin.Context) error {
	r, err := s.Sweeps.Request(c.Request.Context(), s.operator(c))
	if err != nil {
		return err
	}
	c.JSON(http.StatusAccepted, passOf(r))
	return nil
}
