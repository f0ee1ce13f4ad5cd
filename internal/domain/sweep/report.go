package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/flakepass/flakepass/idworker"
)

// An Outcome says how a pass ended.
type Outcome string

// The outcomes.
const (
	Running   Outcome = "running"   // it has not ended
	Done      Outcome = "done"      // nothing that was over is left, but for rows that failed or were locked by others
	Ceiling   Outcome = "ceiling"   // at its ceiling of rows or time, or the policy was changed meanwhile; the next goes on
	Slow      Outcome = "slow"      // the database was too slow even for the smallest batches, or a replica behind; the next goes on
	Failed    Outcome = "failed"    // the database failed, or too many rows
	Stopped   Outcome = "stopped"   // the process was asked to end
	TakenOver Outcome = "lost"      // the lease ended and another has it
	Abandoned Outcome = "abandoned" // its process was killed, or cut off from the database
)

// A Report is what is known of a pass.
type Report struct {
	ID          idworker.ID
	Instance    string
	RequestedBy string // empty for one that came by its schedule
	Started     time.Time
	Finished    time.Time // zero while it runs
	Outcome     Outcome
	Cleared     int64         // logins
	FailedRows  int64         // rows that refused to be cleared
	Longest     time.Duration // the longest batch
	Detail      string        // for people
}

// Worth reports whether there is something to report of the pass.
func (r *Report) Worth() bool {
	return r.RequestedBy != "" || r.Cleared > 0 || r.FailedRows > 0 || r.Outcome == Failed || r.Outcome == Slow
}

// Took is how long the pass took.
func (r *Report) Took() time.Duration { return r.Finished.Sub(r.Started) }

// maxSchedule is how long the text of a schedule may be, in bytes.
const maxSchedule = 128

// ParseSchedule reads a cron expression of five fields, a descriptor such as
// @hourly, or @every with a duration of at least a second. Times are UTC. It
// refuses what cron's own parser takes and then does something else with:
// time zones (which can crash it), intervals below a second, and dates that
// never come.
func ParseSchedule(spec string) (schedule cron.Schedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			schedule, err = nil, fmt.Errorf("sweep: schedule %q is not a cron expression", spec)
		}
	}()
	if len(spec) > maxSchedule || strings.Contains(spec, "TZ=") {
		return nil, fmt.Errorf("sweep: schedule %.*q: write it in UTC, without TZ=, in at most %d characters", maxSchedule, spec, maxSchedule)
	}
	schedule, err = cron.ParseStandard(spec)
	if err != nil {
		return nil, fmt.Errorf("sweep: schedule %q: %w", spec, err)
	}
	if every, ok := strings.CutPrefix(strings.TrimSpace(spec), "@every "); ok {
		// cron makes a second of whatever is shorter.
		if d, err := time.ParseDuration(strings.TrimSpace(every)); err == nil && d < time.Second {
			return nil, fmt.Errorf("sweep: schedule %q: at least one second must lie between two sweeps", spec)
		}
	}
	if schedule.Next(time.Now().UTC()).IsZero() {
		return nil, fmt.Errorf("sweep: schedule %q never comes", spec)
	}
	return schedule, nil
}

// Counts are how many logins are over, by the stage in which a pass would clear
// them.
type Counts struct{ Expired, Revoked, Idle int64 }

// Total is how many a pass would clear.
func (c Counts) Total() int64 { return c.Expired + c.Revoked + c.Idle }

// leastCounted is how many logins a count looks at with a statement where more take too long.
const leastCounted = 100

// Count counts what a pass would clear now, by the walk of a pass that clears
// nothing. It takes no lease and locks nothing. counted, if set, is called with how many
// there are so far.
func (s *Sweeper) Count(ctx context.Context, counted func(int64)) (Counts, error) {
	page := 10_000
	all, parts, err := s.current(ctx)
	if err != nil {
		return Counts{}, fmt.Errorf("sweep: %w", err)
	}
	var n [stages]int64
	total := int64(0)
	for i, marks := range append([]Marks{all}, parts...) {
		var behind Marks
		if i > 0 {
			behind = all // which were counted
		}
		for at := behind.begin(0); at.Stage < stages; {
			stale, to, err := s.Store.Stale(ctx, marks, at, page)
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && page > leastCounted {
				page = max(page/4, leastCounted)
				continue
			}
			if err != nil {
				return Counts{}, fmt.Errorf("sweep: %w", err)
			}
			n[at.Stage] += int64(len(stale))
			if total += int64(len(stale)); counted != nil {
				counted(total)
			}
			if to.Stage > at.Stage {
				to = behind.begin(to.Stage)
			}
			at = to
		}
	}
	return Counts{n[Expired], n[Revoked], n[Idle]}, nil
}
