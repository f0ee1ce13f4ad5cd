package broadcast

import (
	"context"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Follow gives tell all that happens, for that account, until ctx ends or tell returns an
// error, which it returns wrapped. after is the mark of the last bulletin that the
// follower got; empty if there is none. It fails with [session.ErrFollowers] if
// there are too many, also later if an account with fewer streams needs the place;
// with [session.ErrStopping], and with [ErrSlow].
func (h *Hub) Follow(ctx context.Context, account idworker.ID, after string, tell func(session.Bulletin) error) error {
	s, start, at, err := h.enter(account, after)
	if err != nil {
		return err
	}
	defer h.close(s)
	if err := tell(session.Bulletin{Start: &start, Last: start.Mark}); err != nil {
		return fmt.Errorf("broadcast: %w", err)
	}
	tick := time.NewTicker(start.Every)
	defer tick.Stop()
	f := follower{Hub: h, at: at, tell: tell}
	for beat := true; ; {
		more, err := f.catchUp(beat)
		if err != nil {
			return fmt.Errorf("broadcast: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("broadcast: %w", ctx.Err())
		case <-h.done:
			return errStopping
		case <-s.lost:
			return errFull
		case <-more:
			beat = false
		case <-tick.C:
			beat = true
		}
	}
}

// A follower is the state of one call of Follow.
type follower struct {
	*Hub
	tell   func(session.Bulletin) error
	at     uint64
	global idworker.ID
	policy *policy.Policy
}

// catchUp sends all that there is, and then a beat if it should.
func (f *follower) catchUp(beat bool) (more <-chan struct{}, err error) {
	// Read before everything else, so that what is sent covers it: the feed moves
	// its horizon only after it has passed on the ends, the floor and the policy.
	horizon := f.Feed.Horizon()
	for {
		var b session.Bulletin
		var next uint64
		if b, next, more, err = f.read(f.at); err != nil {
			return nil, err
		}
		if next == f.at {
			break
		}
		f.at = next
		if err := f.tell(b); err != nil {
			return nil, err
		}
	}
	if !beat {
		return more, nil
	}
	b := session.Bulletin{Beat: true, Horizon: horizon}
	if global := f.Feed.Global(); global > f.global {
		f.global, b.Global = global, global
	}
	if p := f.Policy.Current(); p != f.policy {
		f.policy, b.Policy = p, p
	}
	return more, f.tell(b)
}
