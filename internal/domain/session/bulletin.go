package session

import (
	"errors"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// Why nobody can follow.
var (
	ErrFollowers = errors.New("too many followers")
	ErrStopping  = errors.New("this instance is stopping")
)

// A Bulletin is what a follower of this instance's knowledge is told at once.
// What it holds is told in this order: a start, ends, the floor, the policy, a
// beat. The horizon of a beat covers all that was told before it.
type Bulletin struct {
	// Start is set in the first bulletin only.
	Start *Start
	// Ends have happened; the last of them has the mark Last, with which a
	// follower that was cut off goes on.
	Ends []End
	Last string
	// Global, if not 0, is the ID at and below which every session is over.
	Global idworker.ID
	// Policy, if not nil, is in force from now on.
	Policy *policy.Policy
	// Beat says that this is all there is now.
	Beat    bool
	Horizon time.Time // of a beat; zero if there is none yet
}

// A Start says what a follower will have heard once it is told the rest.
type Start struct {
	// Resumed means: whatever happened since the mark that the follower brought.
	// Otherwise it hears of every end that is younger than Covers, and of some
	// that are older.
	Resumed bool
	Covers  time.Duration
	// Mark is where the stream begins.
	Mark string
	// Every is how often there is a beat.
	Every time.Duration
}
