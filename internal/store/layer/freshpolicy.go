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
	// Polled, if set, is for what the server that answers may lack.
	Polled Polled
	// Now is this machine's clock; nil: time.Now.
	Now func() time.Time
}

// ErrUnproven means that the database is one of several servers, and that no poll has succeeded
// within the bound. A server that stood still and was replaced, or that has lost the others,
// still answers questions with its old data. Only changes fail on it, such as the change that
// each poll makes.
var ErrUnproven = errors.New("layer: no poll has shown within the bound that this database server still decides for its cluster")

// Polled is when the last poll began, where another server may have replaced the one that answers
// without its reads showing that. It is zero where reads show it. A nil Polled is always zero.
//
// A server that was replaced lacks what has begun since on the next one. So that there is no such
// session is no answer about a new one. Polled is to be asked before the question: a later poll may
// have reached the next server.
type Polled func() time.Time

func (p Polled) before() time.Time {
	if p == nil {
		return time.Time{}
	}
	return p()
}

// ErrMayLack means that a server has no such row, and that the row may be on the next one.
var ErrMayLack = errors.New("layer: this database server has no such row, and another one that has it may have taken its place since the last poll")

// begins is longer than a login or a key takes from its ID to its commit, with the difference of
// the clocks of two instances.
const begins = 10 * time.Second

// mayLack reports whether what has that ID may have begun after a poll that began then. Nothing has
// begun that is of the future: who makes up tokens gets the answer of every other database.
func mayLack(polled time.Time, id idworker.ID) bool {
	at := idworker.Default().Time(id)
	return !polled.IsZero() && at.After(polled.Add(-begins)) && at.Before(time.Now().Add(begins))
}

var _ session.Rows = (*FreshPolicy)(nil)

// Settle fails with [ErrUnproven] if it is not known whether the row is of a server that
// decides, and with [ErrMayLack].
func (r *FreshPolicy) Settle(ctx context.Context, id idworker.ID, used time.Time) (session.Session, error) {
	polled := r.Polled.before()
	s, err := r.Rows.Settle(ctx, id, used)
	missing := errors.Is(err, session.ErrNotFound)
	switch {
	case (err == nil || missing) && r.Proven != nil && !r.Proven():
		return session.Session{}, ErrUnproven
	case missing && mayLack(polled, id):
		return session.Session{}, ErrMayLack
	}
	return s, err
}

// Get fails if the policy has to be read and cannot be, and with [ErrUnproven] and [ErrMayLack].
func (r *FreshPolicy) Get(ctx context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	asked := time.Now()
	if r.Now != nil {
		asked = r.Now()
	}
	polled := r.Polled.before()
	s, basis, err := r.Judged.Read(ctx, id)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return s, err
	}
	if r.Proven != nil && !r.Proven() {
		return session.Session{}, ErrUnproven
	}
	if err != nil && mayLack(polled, id) {
		return session.Session{}, ErrMayLack
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
