package sweep

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A Walk is how far the search has come for users who have more sessions than the policy
// of that version allows.
type Walk struct {
	Version int64
	After   idworker.ID // users up to this ID have no more than are allowed
	Done    bool        // all have been looked at

	// Whole means that no session is too many behind it: it began when no login was under way
	// any more that an earlier policy had decided.
	Whole bool
}

// reducedAtOnce is how many rows of further slots are looked at at once.
const reducedAtOnce = 2000

// reduce ends what a lower limit of sessions has ended and nobody has asked about since. It
// goes on where the pass before it stopped. A whole walk that no other policy has
// interrupted is not done again: the store notes that.
func (p *pass) reduce(ctx context.Context) error {
	for {
		if time.Since(p.report.Started) >= p.limits.Time || int(p.report.Cleared) >= p.limits.Rows {
			return errCeiling
		}
		start := time.Now()
		walk, ended, err := p.Store.Reduce(ctx, p.reduced, reducedAtOnce)
		if err != nil {
			return err
		}
		p.report.Cleared += int64(ended)
		if p.reduced = walk; walk.Done {
			p.reduced = Walk{}
			return nil
		}
		if err := p.rest(ctx, ended, time.Since(start)); err != nil {
			return err
		}
	}
}
