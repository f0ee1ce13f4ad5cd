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
	"github.com/flakepass/flakepass/internal/session"
)

// A Tier is the gate. Make one with [New].
type Tier struct {
	session.Rows // everything but Get and Settle is the next tier's
	room         chan struct{}
}

var _ session.Rows = (*Tier)(nil)

// New returns a gate in front of next that lets most questions through at once,
// and at least one.
func New(next session.Rows, most int) *Tier {
	return &Tier{Rows: next, room: make(chan struct{}, max(most, 1))}
}

// Get asks the next tier once there is room, or fails with the error of ctx.
func (t *Tier) Get(ctx context.Context, id idworker.ID) (session.Session, error) {
	leave, err := t.enter(ctx)
	if err != nil {
		return session.Session{}, err
	}
	defer leave()
	return t.Rows.Get(ctx, id)
}

// Settle is as Get.
func (t *Tier) Settle(ctx context.Context, id idworker.ID, used time.Time) (session.Session, error) {
	leave, err := t.enter(ctx)
	if err != nil {
		return session.Session{}, err
	}
	defer leave()
	return t.Rows.Settle(ctx, id, used)
}

func (t *Tier) enter(ctx context.Context) (leave func(), err error) {
	select {
	case t.room <- struct{}{}:
		return func() { <-t.room }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("gatetier: waiting to ask: %w", ctx.Err())
	}
}
