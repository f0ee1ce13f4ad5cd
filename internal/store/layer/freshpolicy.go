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

// FreshPolicy are [session.Rows]. An answer is never newer than the policy by which this instance
// judges it. If a row was read under a policy that this instance does not know yet, Get reads the
// policy first and then returns the row. Otherwise this instance could believe a fresh row for one
// bound by a policy that is one bound old already.
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

// ErrUnproven means that the database is one of several servers, and that no poll has succeeded
// within the bound. A server that stood still and was replaced, or that has lost the others,
// still answers questions with its old data. Only changes fail on it, such as the change that
// each poll makes.
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
