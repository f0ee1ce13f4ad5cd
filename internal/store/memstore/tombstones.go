package memstore

import (
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// tombstones hold, for each user, the largest ID of a session that ended. It only
// grows by maximum, so an end may be added twice, late or out of order.
type tombstones struct {
	keep   time.Duration // how long each is kept
	shards [64]shard
}

type shard struct {
	mu sync.RWMutex
	of map[idworker.ID]tombstone
}

type tombstone struct {
	floor idworker.ID
	why   session.Reason
	until time.Time
}

func (t *tombstones) shard(user idworker.ID) *shard {
	// Fibonacci hashing: the low bits of an ID are its sequence, often 0.
	return &t.shards[uint64(user)*0x9e3779b97f4a7c15>>58]
}

func (t *tombstones) find(user, id idworker.ID) (session.Reason, bool) {
	s := t.shard(user)
	s.mu.RLock()
	d, ok := s.of[user]
	s.mu.RUnlock()
	switch {
	case !ok || d.floor < id:
		return "", false
	case d.floor == id:
		return d.why, true
	default: // a later session of that user has ended since, so this one was replaced
		return session.Replaced, true
	}
}

// add reports whether the end was not known yet.
func (t *tombstones) add(now time.Time, user, id idworker.ID, why session.Reason) bool {
	s := t.shard(user)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[idworker.ID]tombstone)
	}
	d, ok := s.of[user]
	isNew := !ok || d.floor < id
	if !ok || d.floor <= id {
		d.floor, d.why = id, why
	}
	d.until = now.Add(t.keep)
	s.of[user] = d
	// Each call looks at a few others, so that the number of old ones stays within
	// a small factor of those still needed, without a goroutine that removes them.
	looked := 0
	for u, d := range s.of {
		if looked++; looked > 4 {
			break
		}
		if now.After(d.until) {
			delete(s.of, u)
		}
	}
	return isNew
}

// Ends are the ends that are remembered, but for those that the policy makes: these
// follow from the row.
func (t *Sessions) Ends() (all []session.End) {
	now := t.now()
	for i := range t.tombstones.shards {
		s := &t.tombstones.shards[i]
		s.mu.RLock()
		for user, d := range s.of {
			if d.why != session.Expired && d.why != session.Idle && now.Before(d.until) {
				all = append(all, session.End{UserID: user, Floor: d.floor, Reason: d.why})
			}
		}
		s.mu.RUnlock()
	}
	return all
}
