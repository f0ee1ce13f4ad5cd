package memstore

import (
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// tombstones hold, for each slot of a user, the largest ID of a session that ended. It only
// grows by maximum, so an end may be added twice, late or out of order.
type tombstones struct {
	keep   time.Duration // how long each is kept
	shards [64]shard
}

type shard struct {
	mu sync.RWMutex
	of map[place]tombstone
}

// A place is a slot of a user. The number has the width of the ID, so that a place is
// hashed as one block.
type place struct {
	user idworker.ID
	slot uint64
}

func placeOf(user idworker.ID, slot session.Slot) place { return place{user, uint64(slot)} }

type tombstone struct {
	floor idworker.ID
	why   session.Reason
	until time.Time
}

func (t *tombstones) shard(user idworker.ID) *shard {
	// Fibonacci hashing: the low bits of an ID are its sequence, often 0.
	return &t.shards[uint64(user)*0x9e3779b97f4a7c15>>58]
}

func (t *tombstones) find(user idworker.ID, slot session.Slot, id idworker.ID) (session.Reason, bool) {
	s := t.shard(user)
	s.mu.RLock()
	d, ok := s.of[placeOf(user, slot)]
	s.mu.RUnlock()
	switch {
	case !ok || d.floor < id:
		return "", false
	case d.floor == id:
		return d.why, true
	default: // a later session in that slot has ended since, so this one was replaced
		return session.Replaced, true
	}
}

// add reports whether the end was not known yet.
func (t *tombstones) add(now time.Time, e session.End) bool {
	s, at := t.shard(e.UserID), placeOf(e.UserID, e.Slot)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[place]tombstone)
	}
	d, ok := s.of[at]
	isNew := !ok || d.floor < e.Floor
	if !ok || d.floor <= e.Floor {
		d.floor, d.why = e.Floor, e.Reason
	}
	d.until = now.Add(t.keep)
	s.of[at] = d
	// Each call looks at a few others, so that the number of old ones stays within
	// a small factor of those still needed, without a goroutine that removes them.
	looked := 0
	for p, d := range s.of {
		if looked++; looked > 4 {
			break
		}
		if now.After(d.until) {
			delete(s.of, p)
		}
	}
	return isNew
}

// Ends are the ends that are remembered, but for those that the policy makes: these
// follow from the row.
func (t *Sessions) Ends() (all []session.End) {
	now := t.Now()
	for i := range t.tombstones.shards {
		s := &t.tombstones.shards[i]
		s.mu.RLock()
		for at, d := range s.of {
			if d.why != session.Expired && d.why != session.Idle && now.Before(d.until) {
				all = append(all, session.End{UserID: at.user, Slot: session.Slot(at.slot), Floor: d.floor, Reason: d.why})
			}
		}
		s.mu.RUnlock()
	}
	return all
}
