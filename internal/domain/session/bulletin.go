package session

import (
	"context"
	"errors"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// Why a stream is refused.
var (
	ErrFollowers = errors.New("too many followers")
	ErrStopping  = errors.New("this instance is stopping")
)

// A Bulletin is what a follower of this instance's knowledge receives at once, in
// this order: a start, renames, ends, the floor, the policy, a beat. The horizon of a beat
// covers all that was sent before it.
type Bulletin struct {
	// Start is set in the first bulletin only.
	Start *Start
	// Renamed are users who got another username: what is remembered of their sessions has
	// the old one.
	Renamed []idworker.ID
	// Ends have happened. Last is the mark of the last end, or of the last rename if there is no
	// end. A follower that was cut off sends this mark to go on from there.
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

// A Start says which ends a follower knows after the rest of the bulletin.
type Start struct {
	// Resumed means that the follower gets every end since the mark that it sent.
	// Otherwise it gets every end that is younger than Covers, and some older ones.
	Resumed bool
	Covers  time.Duration
	// Mark is where the stream begins.
	Mark string
	// Every is how often there is a beat.
	Every time.Duration
}

// A Use is the report of another service that it accepted a token from its cache.
type Use struct {
	ID idworker.ID
	// Hash is the token's. Who knows it has held the token, or got it from
	// the database: an ID alone keeps no login from going idle.
	Hash Hash
	At   time.Time
}

// Used notes that a login was used then, and reports whether it is one that
// lives and has that hash. An error means that the answer is unknown.
//
// It is no way to revive: of a login that has ended, expired or gone idle
// meanwhile it changes nothing. A time in the future counts as now.
func (s *Service) Used(ctx context.Context, u Use) (bool, error) {
	now, err := s.clock()
	if err != nil {
		return false, err
	}
	if u.At.After(now) {
		u.At = now
	}
	issued := layout.Time(u.ID)
	if s.over(u.ID, issued) != nil {
		return false, nil
	}
	got, err := s.Store.Get(ctx, u.ID, u.Hash)
	err = held(&got, err, &u.Hash)
	rule := got.Expiry(s.Policy.Current())
	if err == nil && got.Act != 0 {
		u.At = time.Time{} // no use of it counts
	}
	if err == nil && s.unsure(&got, &rule, issued, now, !u.At.IsZero()) {
		got, err = s.settle(ctx, got, &u.Hash, u.At)
	}
	switch {
	case refused(err):
		return false, nil
	case err != nil:
		return false, err
	case u.At.Sub(got.Seen) >= rule.Touch:
		_ = s.Store.Touch(ctx, u.ID, u.At) // as in Verify
	}
	return true, nil
}
