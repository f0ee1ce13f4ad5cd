package session

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A Use is the word of another service that it accepted a token, out of what it
// remembers.
type Use struct {
	ID idworker.ID
	// Hash is the token's. Who knows it has held the token, or was told of it by
	// the database: an ID alone keeps no login from going idle.
	Hash Hash
	At   time.Time
}

// Used notes that a login was used then, and reports whether it is one that
// lives and has that hash. An error means that it could not tell.
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
	got, err := s.ask(ctx, u.ID, &u.Hash)
	rule := s.Policy.Current()
	if err == nil && s.unsure(&got, rule, issued, now, true) {
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
