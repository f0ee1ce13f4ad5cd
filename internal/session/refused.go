package session

import (
	"github.com/flakepass/flakepass"
	"github.com/flakepass/flakepass/idworker"
)

// A RefusedError is a [*flakepass.Refusal] about a login that there is or was:
// it says whose, for the record. It is not for the one who was refused.
type RefusedError struct {
	ID       idworker.ID
	UserID   idworker.ID
	Username string
	// Forged means that the secret is not that of this login's token, and never
	// was: somebody has made the token up.
	Forged bool
	Err    *flakepass.Refusal
}

// Error is that of Err.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap is Err.
func (e *RefusedError) Unwrap() error { return e.Err }

func refusedBecause(s *Session, why *flakepass.Refusal) error {
	return &RefusedError{ID: s.ID, UserID: s.UserID, Username: s.Username, Err: why}
}

// forged is the refusal of a token that names s and has not its hash. What is
// kept of a login without its hash proves nothing.
func forged(s *Session) error {
	if s.Hash == (Hash{}) {
		return flakepass.ErrInvalid
	}
	return &RefusedError{ID: s.ID, UserID: s.UserID, Username: s.Username, Forged: true, Err: flakepass.ErrInvalid}
}
