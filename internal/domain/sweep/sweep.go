// Package sweep forgets logins that are over: the cron job that clears stale
// tokens off the users' rows.
//
// It is garbage collection. No answer depends on it, for the policy is asked at
// every request. A lease in the database keeps instances from doing the same
// work twice; that is economy. What makes any number of sweepers safe is that
// each row is cleared by a compare-and-set, by conditions that the database
// checks as it writes.
package sweep

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A Stage is one of the ways in which a login is over, in the order in which a
// pass looks for them.
type Stage int

// The stages.
const (
	Expired Stage = iota // issued too long ago
	Revoked              // at or below the global floor
	Idle                 // unused for too long
	stages
)

// Marks say up to where logins are over, stage by stage. The policy's
// watermarks never move back, so what they say stays true however long a pass
// takes.
type Marks struct {
	Issued idworker.ID // Expired: tokens up to this ID
	Floor  idworker.ID // Revoked: tokens up to this ID
	Seen   time.Time   // Idle: last seen then or before
	Now    time.Time   // when all this is so: an impersonation is over by its age alone

	// Part, if set, says of which logins this is so, by the policy of that version.
	// Otherwise it is so of all.
	Part    *policy.Part
	Version int64
}

// MarksOf are the marks of the watermarks of a policy, in the past or zero, and
// of a global floor.
func MarksOf(issued, seen time.Time, floor idworker.ID) Marks {
	// The first ID after the instant, less one, is the last ID at or before it.
	last := idworker.Default().Smallest(issued.Truncate(time.Millisecond).Add(time.Millisecond)) - 1
	return Marks{Issued: last, Floor: floor, Seen: seen}
}

// A Cursor says how far a pass has come. The zero Cursor is the beginning.
type Cursor struct {
	Stage Stage
	Value int64       // of the column by which the stage goes
	Row   idworker.ID // of that value, where several have the same
}

// A Login is one that is over.
type Login struct {
	Row         idworker.ID // that has it: the user's, or that of a further slot
	Further     bool        // it is in a further slot
	User, Token idworker.ID // the user is 0 in a list of further slots
	Value       int64       // as in a Cursor
}

// A Store holds the logins.
type Store interface {
	// Head reads the clock of the database and the global floor.
	Head(ctx context.Context) (now time.Time, floor idworker.ID, err error)
	// Stale looks at the next logins beyond the cursor, at most limit, of the cursor's stage,
	// and lists those of them that are over by the marks, in the order of cursors. It returns
	// the cursor of the last that it looked at, or one of the next stage if there are no more
	// of this one. So one call looks at a bounded number, however few of them are over. It
	// locks nothing.
	Stale(ctx context.Context, m Marks, from Cursor, limit int) ([]Login, Cursor, error)
	// Clear clears those of the logins that are still on their rows and still over,
	// and returns how many: all of them or, with an error, none. A row that
	// another transaction has locked is left for the next pass. It fails with
	// [ErrUnclearable] if it is a row that is at fault and not the database, and with
	// [ErrChanged]. If there are events, one ID for each login, an event is written with each that
	// is cleared.
	Clear(ctx context.Context, m Marks, stage Stage, logins []Login, events []idworker.ID) (int, error)
	// Reduce ends the sessions that are too many by the policy in force, of the next users
	// of a walk who have about that many rows of further slots; or of fewer, if that takes
	// longer than others at the rows should notice. It returns how far the walk has come, and
	// how many sessions ended, also with an error. It fails with [ErrUnclearable] if it is a
	// user that is at fault and not the database: the walk is past that one then, and no longer
	// whole. A walk by another policy than the one in force begins anew. Where no user can have
	// too many it is done at once.
	Reduce(ctx context.Context, from Walk, rows int) (Walk, int, error)
}

// A RunStore holds the lease and the history. A lease lasts by the clock of the
// database, whatever the clocks of instances say.
type RunStore interface {
	// Take gives the lease to the pass and returns how far the one before came. It
	// fails with [ErrRunning] if another lease is fresh. With an event, it also
	// writes that and the pass, as running, in the same transaction.
	Take(ctx context.Context, r Report, event *audit.Event, lease time.Duration) (Cursor, error)
	// Keep makes the lease last from now, and notes how far the pass has come. It
	// fails with [ErrLost] if another has the lease by now.
	Keep(ctx context.Context, r Report, at Cursor, lease time.Duration) error
	// Finish ends the lease, if the pass still has it, and keeps the report, if
	// there is something to report.
	Finish(ctx context.Context, r Report, next Cursor) error
}

// Errors of stores.
var (
	// ErrUnclearable means that the database refuses to clear a row.
	ErrUnclearable = errors.New("a row cannot be cleared")
	// ErrRunning means that a pass is under way, on whichever instance.
	ErrRunning = errors.New("a sweep is running")
	// ErrLost means that the lease ended and another has it.
	ErrLost = errors.New("the lease of the sweep was lost")
	// ErrChanged means that the policy is being changed, or is no longer the one that the marks are of.
	ErrChanged = errors.New("the policy was changed meanwhile")
)

// ErrStopped means that this instance does not sweep, or no longer.
var ErrStopped = errors.New("sweep: not running here")

// An IDs mints the IDs of passes and of events.
type IDs interface {
	Next(ctx context.Context) (idworker.ID, error)
	NextN(ctx context.Context, dst []idworker.ID) (int, error)
}

// Limits bound a pass, and what others at the rows notice of it. Zero fields
// get the values of [DefaultLimits].
type Limits struct {
	Rows int           // cleared by one pass; the next goes on from there
	Time time.Duration // for one pass
	// Batch is how long clearing one batch should take: rows are locked that long,
	// and a login of one of those users waits. The size of batches follows it.
	Batch time.Duration
	// Smallest and Largest are rows of a batch.
	Smallest, Largest int
	// Lease is how long a killed pass keeps others waiting.
	Lease time.Duration
	// Lag is how far behind a replica may be while a pass goes on.
	Lag time.Duration
	// Failures is how many rows may refuse to be cleared before a pass gives up.
	Failures int
}

// DefaultLimits are those of a server.
func DefaultLimits() Limits {
	return Limits{
		Rows: 1_000_000, Time: time.Minute, Batch: 40 * time.Millisecond, Smallest: 100, Largest: 4000,
		Lease: 15 * time.Second, Lag: 10 * time.Second, Failures: 100,
	}
}

// A Sweeper sweeps when the policy in force says so, and when it is asked to.
// Set the fields once, before use.
type Sweeper struct {
	Store  Store
	Runs   RunStore
	Policy interface{ Current() *policy.Policy }
	IDs    IDs
	Log    *slog.Logger
	// Copies are the replicas that a pass waits for. nil means none.
	Copies Copies
	// Instance is this one's name in the history.
	Instance string
	Limits   Limits
	// Audit writes an event for each login that is cleared.
	Audit bool
	// Swept, if set, is called with each pass when it has ended.
	Swept func(Report)
	// After, if set, is called after each pass that has ended as [Done] or [Ceiling]. It is for
	// other work on the schedule of the sweep. The lease has ended by then, so another pass
	// may begin meanwhile, also here.
	After func(context.Context)
	// Skipped, if set, is called for each pass that did not begin because another runs.
	Skipped func()
	// Progress, if set, is called with a pass after each batch.
	Progress func(Report)
	// Now is the time on the wall. nil means time.Now.
	Now func() time.Time

	mu    sync.Mutex
	inbox chan job // nil unless Run runs
	// walking is set from before a pass of this instance takes the lease until it has walked. What follows is of one pass at a time.
	walking atomic.Bool
	// parts is how far this instance has cleared each part of the policy of a version.
	parts struct {
		version int64
		reached map[policy.Scope]reach
	}
	// reduced is how far the pass that runs, or the last one, has come with a lower limit.
	reduced Walk
	// refusals are the logins that could not be cleared, and the users whose sessions could not
	// be ended, that were logged.
	refusals map[idworker.ID]bool
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	l.Rows = cmp.Or(l.Rows, d.Rows)
	l.Time = cmp.Or(l.Time, d.Time)
	l.Batch = cmp.Or(l.Batch, d.Batch)
	l.Smallest = cmp.Or(l.Smallest, d.Smallest)
	l.Largest = cmp.Or(l.Largest, d.Largest)
	l.Lease = cmp.Or(l.Lease, d.Lease)
	l.Lag = cmp.Or(l.Lag, d.Lag)
	l.Failures = cmp.Or(l.Failures, d.Failures)
	return l
}
