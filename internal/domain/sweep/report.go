package sweep

import (
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// An Outcome says how a pass ended.
type Outcome string

// The outcomes.
const (
	Running   Outcome = "running"   // it has not ended
	Done      Outcome = "done"      // nothing that was over is left, but for rows that failed
	Ceiling   Outcome = "ceiling"   // at its ceiling of rows or time; the next goes on
	Slow      Outcome = "slow"      // the database was too slow even for the smallest batches, or a replica behind; the next goes on
	Failed    Outcome = "failed"    // the database failed, or too many rows
	Stopped   Outcome = "stopped"   // the process was told to end
	TakenOver Outcome = "lost"      // the lease ended and somebody else has it
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

// Worth reports whether there is something to tell of the pass.
func (r *Report) Worth() bool {
	return r.RequestedBy != "" || r.Cleared > 0 || r.FailedRows > 0 || r.Outcome == Failed || r.Outcome == Slow
}

// Took is how long the pass took.
func (r *Report) Took() time.Duration { return r.Finished.Sub(r.Started) }
