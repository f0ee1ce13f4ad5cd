package sweep

import (
	"context"
	"errors"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A Walk is how far the search has come for users who have more sessions than the policy
// of that version allows.
type Walk struct {
	Version int64
	After   idworker.ID // users up to this ID have no more than are allowed, but for those left out
	Done    bool        // all have been looked at

	// Whole means that no user up to After has too many sessions. For that the walk must have left
	// nobody out. And when it began, no login that an earlier policy had decided was under way.
	Whole bool
}

// reducedAtOnce is how many rows of further slots are looked at at once, and leastReduced of
// how many when that takes too long.
const reducedAtOnce, leastReduced = 2000, 50

// reduce ends what a lower limit of sessions has ended and nobody has asked about since. It
// goes on where the pass before it stopped. A whole walk that no other policy has
// interrupted is not done again: the store notes that.
//
// A call is many small changes. So how long it takes says nothing of the batches that clear,
// and its pauses are no strikes.
func (p *pass) reduce(ctx context.Context) error {
	for rows := reducedAtOnce; ; {
		if p.over() {
			return errCeiling
		}
		start := time.Now()
		walk, ended, err := p.Store.Reduce(ctx, p.reduced, rows)
		p.report.Cleared += int64(ended)
		p.reduced = walk
		pause := time.Since(start) / share
		switch {
		case errors.Is(err, ErrUnclearable):
			if p.news(walk.After) {
				p.Log.WarnContext(ctx, "the sessions of a user that are too many cannot be ended; the sweep goes on without this user, and tries again",
					"user_id", walk.After, "err", err)
			}
			if err := p.refused(err); err != nil {
				return err
			}
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			rows, pause = max(rows/4, leastReduced), max(pause, p.limits.Batch)
		case err != nil:
			return err
		case walk.Done:
			p.reduced = Walk{}
			return nil
		}
		if err := p.pause(ctx, pause); err != nil {
			return err
		}
	}
}
