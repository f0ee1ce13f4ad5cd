package session

import (
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
)

// A RefusedError is a [*flakepass.Refusal] about a login that there is or was:
// it says whose, for the record. It is not for the one who was refused.
type RefusedError struct {
	ID       idworker.ID
	UserID   idworker.ID
	Username string
	Role     string // of the user, as far as what is kept of the login says
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
	return &RefusedError{ID: s.ID, UserID: s.UserID, Username: s.Username, Role: s.Role, Err: why}
}

// forged is the refusal of a token that names s and has not its hash. What is
// kept of a login without its hash proves nothing.
func forged(s *Session) error {
	if s.Hash == (Hash{}) {
		return flakepass.ErrInvalid
	}
	return &RefusedError{ID: s.ID, UserID: s.UserID, Username: s.Username, Role: s.Role, Forged: true, Err: flakepass.ErrInvalid}
}
