package feed

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

// Rows are [session.Rows] whose answers are never newer than the policy that
// judges them here. If a row was read with a policy that this instance has not
// heard of, the policy is read before the row is answered. Otherwise a row that
// was read now could be believed for the bound by a policy that is as old as the
// bound already.
type Rows struct {
	session.Rows
	// Judged is what Get reads in place of that of Rows.
	Judged Reader
	// Policy is what this instance knows.
	Policy interface {
		Current() *policy.Policy
		Refresh(ctx context.Context) error
	}
	// Clock, if set, is told what the clock of the database showed.
	Clock *Feed
}

var _ session.Rows = (*Rows)(nil)

// Get fails if the policy has to be read and cannot be.
func (r *Rows) Get(ctx context.Context, id idworker.ID) (session.Session, error) {
	asked := time.Now()
	if r.Clock != nil {
		asked = r.Clock.Now()
	}
	s, basis, err := r.Judged.Read(ctx, id)
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

var errOlder = errors.New("feed: the policy that was read is older than the row")
