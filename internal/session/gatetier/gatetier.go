// Package gatetier lets only so many questions at a time through to the user
// rows: a [session.Store] in front of them.
//
// When memory is cold, or Redis is gone, every request has a question for the
// database. Those that find no room wait, and are undecided if it takes too
// long; meanwhile logins and logouts find connections free.
package gatetier

import (
	"context"
	"fmt"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/session"
)

// A Tier is the gate. Make one with [New].
type Tier struct {
	session.Store // everything but Get is the next tier's
	room          chan struct{}
}

var _ session.Store = (*Tier)(nil)

// New returns a gate in front of next that lets most questions through at once,
// and at least one.
func New(next session.Store, most int) *Tier {
	return &Tier{Store: next, room: make(chan struct{}, max(most, 1))}
}

// Get asks the next tier once there is room, or fails with the error of ctx.
func (t *Tier) Get(ctx context.Context, id idworker.ID) (session.Session, error) {
	select {
	case t.room <- struct{}{}:
	case <-ctx.Done():
		return session.Session{}, fmt.Errorf("gatetier: waiting to ask: %w", ctx.Err())
	}
	defer func() { <-t.room }()
	return t.Store.Get(ctx, id)
}
