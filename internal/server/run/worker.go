package run

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/fleet"
)

// unfit says why no IDs can be counted on. What a database said is left out:
// the answer is public, and the log has it.
func unfit(w interface{ Healthy() error }) (reasons []fleet.Trouble) {
	switch err := w.Healthy(); {
	case err == nil:
		return nil
	case errors.Is(err, idworker.ErrNoNumber):
		return []fleet.Trouble{fleet.WorkerNoNumber}
	case errors.Is(err, idworker.ErrLost):
		return []fleet.Trouble{fleet.WorkerLost}
	case errors.Is(err, idworker.ErrNoGrant):
		return []fleet.Trouble{fleet.WorkerNoRange}
	default:
		return []fleet.Trouble{fleet.WorkerUnfit + ": " + fleet.Trouble(err.Error())}
	}
}

// A workerLog logs what happens to the worker, an outage once.
type workerLog struct {
	log     *slog.Logger
	failing atomic.Bool
}

var _ idworker.Recorder = (*workerLog)(nil)

// Waited implements [idworker.Recorder]. The metrics count it.
func (*workerLog) Waited(time.Duration) {}

func (l *workerLog) SteppedBack(d time.Duration) {
	l.log.WarnContext(context.Background(), "the wall clock went back; IDs go on without it", "by", d)
}

func (l *workerLog) Renewed(s idworker.Stats, err error) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, idworker.ErrClosed): // stopped
	case err != nil && l.failing.CompareAndSwap(false, true):
		l.log.WarnContext(context.Background(), "range of ID time not extended; trying again", "left", s.FenceLeft, "err", err)
	case err == nil && l.failing.CompareAndSwap(true, false):
		l.log.InfoContext(context.Background(), "range of ID time extended again", "worker", s.Number)
	}
}
