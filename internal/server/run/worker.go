package run

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
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

// lendPatience is how long a command waits for the number of its entry in the
// record: longer than a lender that is well, and may have lost its data, takes.
const lendPatience = 15 * time.Second

// OpenIDs opens a worker for what a command makes.
func OpenIDs(ctx context.Context, cfg config.Config, db *sqlstore.DB, log *slog.Logger) (ids audit.IDs, closeIDs func(), err error) {
	w, closeLender, err := OpenWorker(ctx, cfg, db, log, false, nil)
	if err != nil {
		return nil, nil, err
	}
	return w, func() { _ = HandBack(ctx, w); closeLender() }, nil
}

// HandBack closes a worker at the end of what used it, and hands back what was not minted. It
// takes two seconds at most: a lender that stands still holds up no end.
func HandBack(ctx context.Context, w *idworker.Worker) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return w.Close(last)
}

// OpenEventIDs opens a worker for the IDs of events alone. If it gets no worker number,
// the IDs are random: an operator who has to disable a user must not have to repair
// ZooKeeper first.
func OpenEventIDs(ctx context.Context, cfg config.Config, db *sqlstore.DB, log *slog.Logger) (ids audit.IDs, closeIDs func(), err error) {
	patient, cancel := context.WithTimeout(ctx, lendPatience)
	ids, closeWorker, err := OpenIDs(patient, cfg, db, log)
	if err == nil {
		return ids, func() { closeWorker(); cancel() }, nil
	}
	cancel()
	if ctx.Err() != nil {
		return nil, nil, err
	}
	log.WarnContext(ctx, "no worker number could be borrowed; the entry in the record gets a random number", "err", err)
	return byChance{}, func() {}, nil
}

// eventPatience is how long an event waits for the number of its worker: a range is
// extended long before it ends, so only a lender that does not answer takes longer.
const eventPatience = 250 * time.Millisecond

// eventIDs mints the IDs of the events of a server. If the worker cannot mint, they are
// random: so a logout, a new password and the acts of operators are done and recorded
// while ZooKeeper, or the Redis that lends the numbers, is down. The log says so once a
// minute.
type eventIDs struct {
	worker audit.IDs
	log    *slog.Logger
	warned minutely
}

// Next fails only if ctx has ended.
func (e *eventIDs) Next(ctx context.Context) (idworker.ID, error) {
	patient, cancel := context.WithTimeout(ctx, eventPatience)
	defer cancel()
	id, err := e.worker.Next(patient)
	if err == nil || ctx.Err() != nil {
		return id, err //nolint:wrapcheck // the caller says what it was for
	}
	e.warned.do(func() { e.log.WarnContext(ctx, "no worker number; audit events get a number by chance", "err", err) })
	return byChance{}.Next(ctx)
}

// byChance makes random IDs of this millisecond, without a worker number. They are keys
// of one table only, and the database refuses the second of two equal ones. If a server
// mints in the same millisecond, one in four million is equal. So they are for events,
// and never for users or tokens.
type byChance struct{}

// Next never fails.
func (byChance) Next(context.Context) (idworker.ID, error) {
	l := idworker.Default()
	now := time.Now()
	first := l.Smallest(now)
	room := int64(l.Smallest(now.Add(l.Unit)) - first)
	if room < 2 { // the clock is before the first ID
		room = 1 << 22
	}
	return first + idworker.ID(1+rand.Int64N(room-1)), nil //nolint:gosec // a key, not a secret
}
