package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// Opened is a new login: the only place where its token exists.
type Opened struct {
	Token    flakepass.Token
	Identity flakepass.Identity
	Replaced idworker.ID // the login that ended for it; 0 if none lived
}

// Open begins a login of that user on a device, whose password in that version was
// checked, and ends the one before. It is the act of by, who is that user.
func (s *Service) Open(ctx context.Context, by audit.Actor, user idworker.ID, passwordVersion int64, on *Device) (Opened, error) {
	now, err := s.clock()
	if err != nil {
		return Opened{}, fmt.Errorf("session: open: %w", err)
	}
	o := Opening{UserID: user, PasswordVersion: passwordVersion, Seen: now, Device: on}
	if s.Recorded {
		o.Record = &Record{By: by, Need: audit.NeedsNothing, Policy: s.Policy.Current(), Now: now}
	}
	token, begun, err := s.begin(ctx, o)
	if err != nil {
		return Opened{}, fmt.Errorf("session: open: %w", err)
	}
	if begun.Replaced.ID != 0 {
		// The new login stands, whether or not the other instances could be notified; the
		// old one is over everywhere within the bound.
		_ = s.Store.Publish(ctx, begun.Replaced)
	}
	opened := Opened{Token: token, Identity: identity(&begun.Session, layout.Time(begun.Session.ID), s.Policy.Current())}
	if was := OverBefore(begun.Replaced, s.Policy.Current(), now); !was.Before && was.Ended == Replaced {
		opened.Replaced = was.ID
	}
	return opened, nil
}

// openTime is how long a login may take with all its tries: well below the time that a
// server has to write its answer. A login that began later would have no client.
const openTime = 5 * time.Second

// openTries is how many IDs a login tries. The first is too small only if a login of
// the same user has begun meanwhile, or if the clock of the worker that minted the ID of
// the previous login is ahead. Of several logins of one user at once, one succeeds in
// each round.
const openTries = 16

// begin begins o with an ID and a token of its own.
//
// Both are made before the row is locked. A worker whose range has run out asks the
// database for another, and would wait there for the connection, or in SQLite for
// the write lock, that a Begin waiting for its ID holds.
func (s *Service) begin(ctx context.Context, o Opening) (flakepass.Token, Begun, error) {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	var above idworker.ID
	for try := 1; ; try++ {
		id, err := s.IDs.NextAfter(ctx, above)
		if err != nil {
			return flakepass.Token{}, Begun{}, err
		}
		token := flakepass.NewToken(flakepass.ID(id))
		o.ID, o.Hash = id, HashOf(token)
		begun, err := s.Writer.Begin(ctx, o)
		refused, ok := errors.AsType[*IDError](err)
		if !ok || try == openTries {
			return token, begun, err
		}
		above = refused.Above
	}
}

// A RefusedError is a [*flakepass.Refusal] of a login that is known, with its user.
// That is for the record, not for the client.
type RefusedError struct {
	ID       idworker.ID
	UserID   idworker.ID
	Username string
	Role     string // of the user, as far as what is kept of the login says
	// Forged means that the secret is not that of this login's token, and never
	// was: the token is made up.
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
