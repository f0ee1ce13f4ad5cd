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
	now := s.Now()
	if u.At.After(now) {
		u.At = now
	}
	if s.over(u.ID, layout.Time(u.ID), now) != nil {
		return false, nil
	}
	got, err := s.ask(ctx, s.Store, u.ID, &u.Hash)
	if refused(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	rule := s.Policy.Current()
	if rule.Idled(got.Seen, now) {
		return false, nil // whoever has the token may ask, and the truth is asked then
	}
	if u.At.Sub(got.Seen) >= rule.Touch {
		_ = s.Store.Touch(ctx, u.ID, u.At) // as in Verify: advice
	}
	return true, nil
}
