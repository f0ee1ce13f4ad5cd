package zkworker

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/internal/lend"
)

var _ idworker.Lender = (*Lender)(nil)

// rounds of a race are enough: in each, one wins.
const rounds = 100

// A Lender lends numbers to processes whose session lives. Set the fields
// before use; a Lender must not be copied afterwards.
type Lender struct {
	Client *Client

	// Root is the path under which everything is kept, such as
	// "/flakepass/workers". It is made if absent.
	Root string

	// Holder is the name of the owner for people, such as "host:pid". It means nothing
	// to the Lender.
	Holder string

	// Numbers is how many numbers there are, from 0. Zero means 1024.
	Numbers int

	// Now is the time at which ranges begin; nil means time.Now.
	Now func() time.Time

	mu      sync.Mutex
	unknown map[string]idworker.Grant // by token: perhaps acquired, and returned to no caller
	held    map[string]bool           // by token, what was lent here; false when ZooKeeper has forgotten it
}

func (l *Lender) tree() tree { return tree{client: l.Client, root: l.Root} }

// Acquire implements [idworker.Lender]. In order of preference it takes a
// number that was given back or whose owner's session has ended, lowest fence
// first; one that was never used; and one of the first kind whose fence is still
// ahead of the clock, nearest first.
func (l *Lender) Acquire(ctx context.Context, window time.Duration) (idworker.Grant, error) {
	many, err := lend.Numbers(l.Numbers)
	if err != nil {
		return idworker.Grant{}, fmt.Errorf("zkworker: acquire: %w", err)
	}
	l.settle(ctx)
	for round := range rounds {
		if err := lend.Backoff(ctx, round); err != nil {
			return idworker.Grant{}, fmt.Errorf("zkworker: acquire: %w", err)
		}
		now := lend.Now(l.Now)
		floor, err := l.Client.remembered()
		if err != nil {
			return idworker.Grant{}, fmt.Errorf("zkworker: acquire: %w", err)
		}
		s, err := l.tree().choose(ctx, many, now, round)
		if ctx.Err() == nil && err != nil && lost(err) {
			continue
		}
		if err != nil {
			return idworker.Grant{}, fmt.Errorf("zkworker: acquire: %w", err)
		}
		from := max(now, s.Fence, floor)
		g := idworker.Grant{
			Number: s.number, Token: crand.Text(),
			From: time.UnixMilli(from), Until: time.UnixMilli(from + window.Milliseconds()),
		}
		won, err := l.tree().take(ctx, s, node{Fence: g.Until.UnixMilli(), Token: g.Token, Holder: shown(l.Holder)}, true)
		if err != nil {
			l.doubt(g)
			return idworker.Grant{}, fmt.Errorf("zkworker: acquire: %w", err)
		}
		if won {
			// Perhaps in a session that began since.
			if _, err := l.Client.remembered(); err != nil {
				l.doubt(g)
				return idworker.Grant{}, fmt.Errorf("zkworker: acquire: %w", err)
			}
			l.hold(g)
			return g, nil
		}
	}
	return idworker.Grant{}, fmt.Errorf("zkworker: acquire: %w: lost every race", idworker.ErrNoNumber)
}

// take writes a new owner's token and fence, unless the node has changed since
// it was looked at, and finds out what became of a lost answer. An error leaves
// that open.
func (t tree) take(ctx context.Context, s sight, to node, claim bool) (bool, error) {
	err := t.put(ctx, s, to, claim)
	for round := 1; errors.Is(err, errRaced); round++ {
		if err := lend.Backoff(ctx, round); err != nil {
			return false, err
		}
		var now sight
		if now, err = t.fresh(ctx, s.number); err == nil {
			return now.Token == to.Token, nil
		} else if ctx.Err() == nil && lost(err) {
			err = errRaced
		}
	}
	return err == nil, err
}

// fresh is look behind sync.
func (t tree) fresh(ctx context.Context, n int) (sight, error) {
	if err := t.sync(ctx); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return sight{}, err
	}
	return t.look(ctx, n)
}

// Extend implements [idworker.Lender]. It makes the claim again if the session
// it was made in has expired, and no other process has taken the number meanwhile.
func (l *Lender) Extend(ctx context.Context, g idworker.Grant, until time.Time) (idworker.Grant, error) {
	s, err := l.change(ctx, g, func(s sight) (node, bool, bool) {
		to := s.node
		to.Fence = max(to.Fence, until.UnixMilli())
		return to, true, to == s.node && s.claimed
	})
	if err != nil {
		return idworker.Grant{}, fmt.Errorf("zkworker: extend: %w", err)
	}
	g.Until = time.UnixMilli(s.Fence)
	return g, nil
}

// Release implements [idworker.Lender].
func (l *Lender) Release(ctx context.Context, g idworker.Grant, used time.Time) error {
	_, err := l.change(ctx, g, func(s sight) (node, bool, bool) {
		to := s.node
		to.Token, to.Fence = "", min(to.Fence, max(lend.CeilMilli(used), g.From.UnixMilli()))
		return to, false, false
	})
	if err != nil {
		return fmt.Errorf("zkworker: release: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, g.Token)
	return nil
}

// change lets edit say what becomes of a number that g.Token owns, whether it is
// claimed, and whether that is so already. After a lost answer it looks again. A number that
// ZooKeeper has forgotten is given up, with the fence raised to all that was lent.
func (l *Lender) change(ctx context.Context, g idworker.Grant, edit func(sight) (to node, claim, done bool)) (sight, error) {
	var tried []byte  // what was written last, and perhaps is there
	var outcome error // ErrLost if ZooKeeper has forgotten g
	for round := range rounds {
		if err := lend.Backoff(ctx, round); err != nil {
			return sight{}, err
		}
		s, err := l.tree().fresh(ctx, g.Number)
		switch {
		case errors.Is(err, ErrDamaged):
			return sight{}, errors.Join(idworker.ErrLost, err)
		case ctx.Err() == nil && err != nil && lost(err):
			continue
		case err != nil:
			return sight{}, err
		}
		if data, err := s.encode(); err == nil && tried != nil && string(data) == string(tried) {
			return s, outcome
		}
		if l.forgotten(g, s) { // the claim would keep the number for as long as this session lives
			outcome = idworker.ErrLost
			edit = func(s sight) (node, bool, bool) {
				to := s.node
				to.Token, to.Fence = "", max(to.Fence, g.Until.UnixMilli())
				return to, false, false
			}
		}
		if !s.exists || s.Token == "" || s.Token != g.Token {
			return sight{}, idworker.ErrLost
		}
		to, claim, done := edit(s)
		if done {
			return s, nil
		}
		if tried, err = to.encode(); err != nil {
			return sight{}, err
		}
		if err = l.tree().put(ctx, s, to, claim); err == nil {
			s.node = to
			return s, outcome
		}
		if !errors.Is(err, errRaced) {
			return sight{}, err
		}
	}
	return sight{}, errRaced
}

func (l *Lender) hold(g idworker.Grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[string]bool)
	}
	l.held[g.Token] = true
}

// forgotten reports whether ZooKeeper has lost g: a number's fence is never lower
// than the end of a grant that was not given back. A token that is in a backup
// proves nothing, because the number may have had another owner since.
func (l *Lender) forgotten(g idworker.Grant, s sight) bool {
	known := g.Until.UnixMilli()
	l.mu.Lock()
	defer l.mu.Unlock()
	first, held := l.held[g.Token]
	if !held || s.exists && s.Fence >= known {
		return false
	}
	if first {
		l.held[g.Token] = false
		l.Client.forgot(known)
	}
	return true
}

// doubt remembers a number that may have been acquired although no caller got it.
// The session would keep it for as long as the process lives.
func (l *Lender) doubt(g idworker.Grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unknown == nil {
		l.unknown = make(map[string]idworker.Grant)
	}
	l.unknown[g.Token] = g
}

// settle gives back what is in doubt, if ZooKeeper can be reached; if not, it stays so.
func (l *Lender) settle(ctx context.Context) {
	l.mu.Lock()
	var all []idworker.Grant
	for _, g := range l.unknown {
		all = append(all, g)
	}
	l.mu.Unlock()
	for _, g := range all {
		if err := l.Release(ctx, g, g.From); err == nil || errors.Is(err, idworker.ErrLost) {
			l.mu.Lock()
			delete(l.unknown, g.Token)
			l.mu.Unlock()
		}
	}
}
