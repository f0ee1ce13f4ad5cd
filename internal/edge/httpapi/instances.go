package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/internal/domain/fleet"
)

// Instances are the last reports of the instances that run: at most limit, those
// that came last, newest first.
type Instances interface {
	List(ctx context.Context, limit int) ([]fleet.Seen, error)
}

func (s *server) instanceRoutes(g gin.IRouter) { g.GET("/instances", s.do(s.instances)) }

// runningInstance is an instance as an answer has it.
type runningInstance struct {
	ID             string          `json:"id"`
	Name           string          `json:"name"`
	Version        string          `json:"version"`
	Worker         int             `json:"worker"`
	StartedAt      string          `json:"started_at"`
	SeenAt         string          `json:"seen_at"`
	SilentMS       int64           `json:"silent_ms"`
	NotHeardOf     bool            `json:"not_heard_of"`
	HorizonMS      *int64          `json:"horizon_age_ms,omitempty"` // absent before the first poll
	BoundMS        int64           `json:"revocation_bound_ms"`
	Answers        instanceAnswers `json:"answers"`
	Remembered     int             `json:"remembered_logins"`
	DatabaseMS     float64         `json:"database_ms"`
	DatabaseFailed int             `json:"database_failed"`
	Redis          string          `json:"redis"`
	RedisMS        float64         `json:"redis_ms"`
	ClockMS        int64           `json:"clock_ahead_ms"`
	Troubles       []string        `json:"troubles"`
}

type instanceAnswers struct {
	Memory   uint64 `json:"memory"`
	Redis    uint64 `json:"redis"`
	Database uint64 `json:"database"`
}

func instanceOf(s *fleet.Seen) runningInstance {
	r := runningInstance{
		ID: s.ID, Name: s.Name, Version: s.Version, Worker: s.Worker, StartedAt: stamp(s.Started), SeenAt: stamp(s.Heard),
		SilentMS: s.Silent.Milliseconds(), NotHeardOf: s.Late(), BoundMS: s.Bound.Milliseconds(), Answers: instanceAnswers(s.Answers),
		Remembered: s.Remembered, DatabaseMS: float64(s.DatabaseTook.Microseconds()) / 1000, DatabaseFailed: s.DatabaseFailed,
		Redis: s.Redis.Error(), RedisMS: float64(s.RedisTook.Microseconds()) / 1000, ClockMS: s.Clock.Milliseconds(), Troubles: fleet.Sentences(s.Troubles),
	}
	if s.Horizon >= 0 {
		ms := s.Horizon.Milliseconds()
		r.HorizonMS = &ms
	}
	return r
}

func (s *server) instances(c *gin.Context) error {
	list, err := s.Instances.List(c.Request.Context(), fleet.Most)
	if err != nil {
		return err
	}
	answer := struct {
		Instances []runningInstance `json:"instances"`
	}{Instances: []runningInstance{}}
	for i := range list {
		answer.Instances = append(answer.Instances, instanceOf(&list[i]))
	}
	c.JSON(http.StatusOK, answer)
	return nil
}
