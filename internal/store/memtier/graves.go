package memtier

import (
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// graves holds, for each user, the largest ID of a session that ended. It only
// grows by maximum, so word of an end may come twice, late or out of order.
type graves struct {
	keep   time.Duration // how long a grave is tended
	shards [64]plot
}

type plot struct {
	mu sync.RWMutex
	of map[idworker.ID]grave
}

type grave struct {
	floor idworker.ID
	why   session.Reason
	until time.Time
}

func (g *graves) plot(user idworker.ID) *plot {
	// Fibonacci hashing: the low bits of an ID are its sequence, often 0.
	return &g.shards[uint64(user)*0x9e3779b97f4a7c15>>58]
}

func (g *graves) find(user, id idworker.ID) (session.Reason, bool) {
	p := g.plot(user)
	p.mu.RLock()
	d, ok := p.of[user]
	p.mu.RUnlock()
	switch {
	case !ok || d.floor < id:
		return "", false
	case d.floor == id:
		return d.why, true
	default: // a later session of that user has ended since, so this one was replaced
		return session.Replaced, true
	}
}

// add reports whether it was news.
func (g *graves) add(now time.Time, user, id idworker.ID, why session.Reason) bool {
	p := g.plot(user)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = make(map[idworker.ID]grave)
	}
	d, ok := p.of[user]
	news := !ok || d.floor < id
	if !ok || d.floor <= id {
		d.floor, d.why = id, why
	}
	d.until = now.Add(g.keep)
	p.of[user] = d
	// Each burial looks at a few old graves, so that their number stays within
	// a small factor of those still needed, without a goroutine to tend them.
	looked := 0
	for u, d := range p.of {
		if looked++; looked > 4 {
			break
		}
		if now.After(d.until) {
			delete(p.of, u)
		}
	}
	return news
}
