package flakepass

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A remembered is an answer: who holds a token, and what that relies on.
type remembered struct {
	key      key
	of       place
	username string
	role     string
	device   string // its class
	method   string // by which the user was authenticated
	auth     int64  // and when: Unix milliseconds; 0: not known

	sent  instant // when the question was
	asOf  instant // every end that was committed before is in the answer
	until instant // when it is no longer repeated

	seen  int64        // when it was last used by what its row said, by the server's clock: Unix milliseconds
	noted atomic.Int64 // the last use that the server knows, by its clock: Unix milliseconds
	renew atomic.Int64 // the instant before which it is not renewed again
	using atomic.Bool  // a use has yet to be reported
	hot   atomic.Bool  // asked for since the hand last came by
}

// believe is the identity that e remembers; or [errUnsure], or the [*Refusal] of
// a session whose end was received. renew says that it should be asked
// about again, by and by.
func (r *Remote) believe(ctx context.Context, e *remembered, now instant, mono steady) (who Identity, renew bool, err error) {
	fresh, streamed := r.known.fresh(e, now, r.o.MaxStale)
	if why := r.known.find(e.of, e.key.id); why != nil {
		return who, false, why
	}
	policy, clock := r.known.rule.Load(), r.known.clock.Load()
	if !fresh || policy == nil || clock == nil || r.known.oldName(e) {
		return who, false, errUnsure
	}
	seen, latest, rule := e.seen, clock.latest(now), policy.of(e.device, e.role)
	if !rule.lives(e.key.id, seen, latest) {
		return who, false, errUnsure // the server knows for certain
	}
	if latest-max(seen, e.noted.Load()) >= rule.touch && !IsPassive(ctx) && e.using.CompareAndSwap(false, true) {
		r.uses.add(use{e, now, mono})
	}
	return e.identity(rule, seen), streamed && r.due(e, now), nil
}

// learn takes a policy, and forgets all answers by the one before: what the server
// said of a login may be another by now.
func (r *Remote) learn(p *rule) {
	now, _ := r.clock.now()
	if r.known.learn(p, now) {
		r.cache.clear()
	}
}

// nearEnd is how long before the end of its idle timeout the server is asked
// about a login: longer than the report of a use takes.
const nearEnd = 10 * time.Second

// lives reports whether a login is certainly not over at that time of the
// server's clock, all in Unix milliseconds.
func (p *times) lives(id ID, seen, now int64) bool {
	return id.UnixMilli() > max(p.bornBase, now-p.absolute) &&
		seen > max(p.idleBase, now+nearEnd.Milliseconds()-p.idle)
}

func (e *remembered) identity(p *times, seen int64) Identity {
	issued := e.key.id.UnixMilli()
	var auth time.Time
	if e.auth != 0 {
		auth = time.UnixMilli(e.auth).UTC()
	}
	return Identity{
		UserID: e.of.user, Username: e.username, Role: e.role, SessionID: e.key.id, DeviceClass: e.device, AuthMethod: e.method, AuthTime: auth,
		IssuedAt: time.UnixMilli(issued).UTC(), LastSeenAt: time.UnixMilli(seen).UTC(),
		ExpiresAt:     time.UnixMilli(issued + p.absolute).UTC(),
		IdleExpiresAt: time.UnixMilli(min(issued+p.absolute, seen+p.idle)).UTC(),
	}
}

// due reports whether e is past half of its life, and no other call has just
// begun to renew it. What is in use is renewed while it still answers, so that no
// request waits, and so that it lasts for a while if the server goes away.
func (r *Remote) due(e *remembered, now instant) bool {
	if now-e.sent < (e.until-e.sent)/2 {
		return false
	}
	at := e.renew.Load()
	return int64(now) >= at && e.renew.CompareAndSwap(at, int64(now)+int64(time.Second))
}

// A remoteCache holds so many answers. A full cache removes an answer that was
// not used recently: a hand goes round, and spares once each that was (CLOCK;
// Corbató, 1968).
type remoteCache struct {
	shards [64]struct {
		mu   sync.RWMutex
		at   map[ID]int // into ring
		ring []*remembered
		hand int
	}
	each int // size of a ring
}

func (c *remoteCache) init(entries int) {
	c.each = max((entries+len(c.shards)-1)/len(c.shards), 1)
	for i := range c.shards {
		c.shards[i].at = make(map[ID]int)
	}
}

func (c *remoteCache) get(id ID) *remembered {
	s := &c.shards[shardOf(id)]
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, ok := s.at[id]
	if !ok {
		return nil
	}
	e := s.ring[at]
	if !e.hot.Load() { // written only when it changes, for others read it too
		e.hot.Store(true)
	}
	return e
}

// put remembers e, unless the same token was asked about later.
func (c *remoteCache) put(e *remembered) {
	s := &c.shards[shardOf(e.key.id)]
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.at[e.key.id]
	switch {
	case ok && s.ring[at].key == e.key && s.ring[at].sent > e.sent:
		return
	case ok:
	case len(s.ring) < c.each:
		at = len(s.ring)
		s.ring = append(s.ring, nil)
	default:
		for s.ring[s.hand] != nil && s.ring[s.hand].hot.CompareAndSwap(true, false) {
			s.hand = (s.hand + 1) % len(s.ring)
		}
		at = s.hand
		s.hand = (s.hand + 1) % len(s.ring)
		if old := s.ring[at]; old != nil {
			delete(s.at, old.key.id)
		}
	}
	s.ring[at], s.at[e.key.id] = e, at
}

// drop forgets e, and not what came in its place.
func (c *remoteCache) drop(e *remembered) {
	s := &c.shards[shardOf(e.key.id)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.at[e.key.id]; ok && s.ring[at] == e {
		delete(s.at, e.key.id)
		s.ring[at] = nil
	}
}

func (c *remoteCache) clear() {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		clear(s.at)
		s.ring, s.hand = nil, 0
		s.mu.Unlock()
	}
}
