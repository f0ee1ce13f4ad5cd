package run

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// counts is what this instance counts for the console, by the hour.
type counts struct{ activity.Counter }

func newCounts(db *sqlstore.DB, ids *idworker.Worker, log *slog.Logger) *counts {
	return &counts{Counter: activity.Counter{
		Store: &sqlstore.Activity{DB: db}, Instance: strconv.Itoa(ids.Number()), Now: time.Now, Log: log,
	}}
}

// watch counts what each pass of the sweep clears, before whoever hears of it.
func (c *counts) watch(s *sweep.Sweeper) {
	next := s.Swept
	s.Swept = func(r sweep.Report) {
		c.Add(activity.Expired, int(r.Cleared))
		if next != nil {
			next(r)
		}
	}
}
