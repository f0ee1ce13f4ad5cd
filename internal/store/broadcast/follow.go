package broadcast

import (
	"context"
	"fmt"
	"slices"
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

// A stream is one call of Follow.
type stream struct {
	account idworker.ID
	lost    chan struct{} // closed when its place went to another account
}

// makeRoom closes the newest stream of the account that has the most, for one that
// would still have fewer. It reports whether there is such an account. So one
// account may have all streams while no other wants any, and keeps none out.
// The newest goes: its client has relied on it for the shortest time.
func (h *Hub) makeRoom(account idworker.ID) bool {
	var most []*stream
	for _, of := range h.streams {
		if len(of) > len(most) {
			most = of
		}
	}
	if len(most) <= len(h.streams[account])+1 {
		return false
	}
	s := most[len(most)-1]
	h.remove(s)
	close(s.lost)
	return true
}

func (h *Hub) open(account idworker.ID) *stream {
	s := &stream{account: account, lost: make(chan struct{})}
	h.streams[account] = append(h.streams[account], s)
	h.followers++
	return s
}

func (h *Hub) close(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(s)
}

// remove takes a stream out of the count, if it is still in it.
func (h *Hub) remove(s *stream) {
	of := h.streams[s.account]
	i := slices.Index(of, s)
	if i < 0 {
		return
	}
	h.followers--
	if of = slices.Delete(of, i, i+1); len(of) == 0 {
		delete(h.streams, s.account)
	} else {
		h.streams[s.account] = of
	}
}
