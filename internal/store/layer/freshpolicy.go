package layer

import (
	"context"
	"errors"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A Reader reads rows, each with what it is to be judged by.
type Reader interface {
	// Read is [session.Rows.Get], and says which policy was in force and what the clock of the
	// database showed.
	Read(ctx context.Context, id idworker.ID) (session.Session, session.Basis, error)
}

// FreshPolicy are [session.Rows] whose answers are never newer than the policy that
// judges them here. If a row was read with a policy that this instance does
// not know yet, the policy is read before the row is answered. Otherwise a row that
// was read now could be believed for the bound by a policy that is as old as the
// bound already.
type FreshPolicy struct {
	session.Rows
	// Judged is what Get reads in place of that of Rows.
	Judged Reader
	// Policy is what this instance knows.
	Policy interface {
		Current() *policy.Policy
		Refresh(ctx context.Context) error
	}
	// Clock, if set, learns what the clock of the database showed to a question that
	// was asked at that time.
	Clock interface{ Saw(showed, asked time.Time) }
	// Proven, if set, reports whether the server that answers decides for the database,
	// as far as polls have shown: see [ErrUnproven].
	Proven func() bool
	// Now is this machine's clock; nil: time.Now.
	Now func() time.Time
}

// ErrUnproven means that no poll has succeeded within the bound, and the database is one
// of several servers. One that was replaced while it stood still, or that has lost the
// others, goes on answering questions with what it had. Only its changes fail, such as
// that of a poll.
var ErrUnproven = errors.New("layer: no poll has shown within the bound that this database server still decides for its cluster")

var _ session.Rows = (*FreshPolicy)(nil)

// Settle fails with [ErrUnproven] if it is not known whether the row is of a server that
// decides.
func (r *FreshPolicy) Settle(ctx context.Context, id idworker.ID, used time.Time) (session.Session, error) {
	s, err := r.Rows.Settle(ctx, id, used)
	if (err == nil || errors.Is(err, session.ErrNotFound)) && r.Proven != nil && !r.Proven() {
		return session.Session{}, ErrUnproven
	}
	return s, err
}

// Get fails if the policy has to be read and cannot be, and with [ErrUnproven].
func (r *FreshPolicy) Get(ctx context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	asked := time.Now()
	if r.Now != nil {
		asked = r.Now()
	}
	s, basis, err := r.Judged.Read(ctx, id)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return s, err
	}
	if r.Proven != nil && !r.Proven() {
		return session.Session{}, ErrUnproven
	}
	if err != nil {
		return s, err
	}
	if r.Clock != nil {
		r.Clock.Saw(basis.Now, asked)
	}
	if basis.Version > r.Policy.Current().Version {
		if err := r.Policy.Refresh(ctx); err != nil {
			return session.Session{}, err
		}
		if basis.Version > r.Policy.Current().Version { // it came from another server
			return session.Session{}, errOlder
		}
	}
	return s, nil
}

var errOlder = errors.New("layer: the policy that was read is older than the row")
