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
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A Tier is the gate. Make one with [New].
type Tier struct {
	session.Rows // everything but Get and Settle is the next tier's
	room         chan struct{}
	// Settling writes, and waits for locks: it must not take the room of those who
	// read.
	settling chan struct{}
}

// patience is how long anybody waits for room.
const patience = 3 * time.Second

var _ session.Rows = (*Tier)(nil)

// New returns a gate in front of next that lets most questions through at once, a
// quarter of them to settle; but at least one of each kind.
func New(next session.Rows, most int) *Tier {
	settling := max(most/4, 1)
	return &Tier{Rows: next, room: make(chan struct{}, max(most-settling, 1)), settling: make(chan struct{}, settling)}
}

// Get asks the next tier once there is room, or fails with the error of ctx.
func (t *Tier) Get(ctx context.Context, id idworker.ID) (session.Session, error) {
	leave, err := enter(ctx, t.room)
	if err != nil {
		return session.Session{}, err
	}
	defer leave()
	return t.Rows.Get(ctx, id)
}

// Settle is as Get, with room of its own.
func (t *Tier) Settle(ctx context.Context, id idworker.ID, used time.Time) (session.Session, error) {
	leave, err := enter(ctx, t.settling)
	if err != nil {
		return session.Session{}, err
	}
	defer leave()
	return t.Rows.Settle(ctx, id, used)
}

func enter(ctx context.Context, room chan struct{}) (leave func(), err error) {
	select {
	case room <- struct{}{}:
		return func() { <-room }, nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case room <- struct{}{}:
		return func() { <-room }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("gatetier: waiting to ask: %w", ctx.Err())
	}
}
