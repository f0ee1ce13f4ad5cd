package flakepass

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/api/wire"
)

// knowledge is what a Remote has received from the server beside the answers.
//
// Why the bound holds. Let a logout be acknowledged at T, and let Verify be
// called at s and accept. If the answer came from the server for this call, the
// server's own bound covers it, for the question was sent after s. Otherwise one
// of two holds, and in both the end was committed before T.
//
// By its age: the answer's asOf is younger than B. The server sent the age of
// its knowledge as of some moment after the question was sent, so that knowledge
// is no older than sent - age = asOf. The answer would have had an end that was
// committed before asOf; so T > asOf > s - B.
//
// By the stream: asOf >= cover.from, and cover.horizon is younger than B. Every
// end that was committed between the two has a tombstone, and none that was
// committed before asOf is possible; so T > horizon > s - B.
//
// Why cover is true. A beat says how much time the server has counted since the request for the
// stream. So the beat was sent no earlier than the request plus that time: call this moment shown.
// A beat also says how old the horizon of the server was. Every end that was committed since from
// and before shown less that age came before the beat, in the same stream or in one that it
// resumes. A beat that was held up says the same as one that was not, and so only looks older. A
// new stream goes on with the cover if it begins before the old horizon, or exactly where the last
// stream broke off. Otherwise from moves up.
type knowledge struct {
	cover atomic.Pointer[cover]
	rule  atomic.Pointer[rule]
	clock atomic.Pointer[serverClock]
	trust atomic.Int64 // how old knowledge may be, in nanoseconds, measured here
	floor atomic.Int64 // every session with this ID or a smaller one is over
	doubt atomic.Int64 // the instant when the policy in force was received: see learn
	named atomic.Bool  // a rename was received
	tombstones
}

// A cover says: of what was committed from from to horizon, every end is known.
type cover struct{ from, horizon instant }

// A rule is the policy in force, as the server sent it.
type rule struct {
	version int64
	times
	// scopes are the times of the logins to which others apply: of each class that is named
	// with each role that is named.
	scopes map[scope]times
	// oldest is the earliest bornBase: what was issued then is over, whatever it is.
	oldest int64
}

// times are when a login is over.
type times struct {
	idle, absolute, touch int64 // milliseconds
	idleBase, bornBase    int64 // Unix milliseconds
}

// A scope is the logins on devices of one class, of users of one role. An empty class stands for
// every class that no scope names, and an empty role for every role that no scope names.
type scope struct{ class, role string }

// of are the times of a login.
func (p *rule) of(class, role string) *times {
	if p.scopes != nil {
		for _, s := range [...]scope{{class, role}, {class, ""}, {"", role}, {}} {
			if t, ok := p.scopes[s]; ok {
				return &t
			}
		}
	}
	return &p.times
}

// errUnsure means that the server has to be asked.
var errUnsure = errors.New("flakepass: not known")

func (k *knowledge) init() {
	k.doubt.Store(math.MinInt64) // an answer may be as of before this Remote was made
	for i := range k.shards {
		k.shards[i].of = make(map[place]tombstone)
	}
}

// learn takes the policy that came with an answer or a stream. It reports whether this policy
// replaces another one. If so, no answer as of before this moment is repeated, not even one that
// is still under way. The new policy may allow fewer sessions a user, and only the server knows
// which of them have ended.
func (k *knowledge) learn(p *rule, now instant) bool {
	for old := k.rule.Load(); old == nil || old.version < p.version; old = k.rule.Load() {
		if old != nil {
			k.doubt.Store(int64(now))
		}
		if k.rule.CompareAndSwap(old, p) {
			return old != nil
		}
	}
	return false
}

func (k *knowledge) bound(b time.Duration) { k.trust.Store(int64(trusted(b))) }

func (k *knowledge) raise(floor ID) {
	for old := k.floor.Load(); old < int64(floor); old = k.floor.Load() {
		if k.floor.CompareAndSwap(old, int64(floor)) {
			return
		}
	}
}

// ofRename stands for the slot where it is kept when a rename of a user was received.
const ofRename wire.Slot = 255

// rename notes that a user was renamed: no answer as of before is repeated, also one that
// is still under way. It reports false if there are too many to remember. As for an end, the
// server sends it before a horizon that covers it.
func (k *knowledge) rename(user ID, now instant) bool {
	k.named.Store(true)
	return k.add(place{user, ofRename}, 0, nil, now)
}

// oldName reports whether an answer may have the name of before a rename.
func (k *knowledge) oldName(e *remembered) bool {
	if !k.named.Load() {
		return false
	}
	p := &k.shards[shardOf(e.of.user)]
	p.mu.RLock()
	d, ok := p.of[place{e.of.user, ofRename}]
	p.mu.RUnlock()
	return ok && e.asOf <= d.until-tombstoneTime
}

// over refuses what is over by its ID alone, and for good. What else has outlived
// the lifetime that is known here may live by a longer one that is not: the server
// is asked.
func (k *knowledge) over(id ID) error {
	if id <= ID(k.floor.Load()) {
		return ErrRevoked
	}
	if rule := k.rule.Load(); rule != nil && id.UnixMilli() <= rule.oldest {
		return ErrExpired
	}
	return nil
}

// fresh reports whether an answer may be repeated if its session has no tombstone.
// It reads the cover before the tombstones are read, so that they hold at least
// every end that the cover promises. streamed says that the stream makes it so.
func (k *knowledge) fresh(e *remembered, now instant, maxStale time.Duration) (fresh, streamed bool) {
	trust := instant(k.trust.Load())
	if now >= e.until || e.asOf <= instant(k.doubt.Load()) {
		return false, false
	}
	if c := k.cover.Load(); c != nil && e.asOf >= c.from && now-c.horizon < trust {
		return true, true
	}
	return now-e.sent < instant(maxStale) && now-e.asOf < trust, false
}

// A place is where a session is: the ends of one slot of a user say nothing about
// those of another.
type place struct {
	user ID
	slot wire.Slot
}

// tombstones has, for each place, the largest ID of a session that ended. It only
// takes the maximum, so an end may come twice or late.
type tombstones struct {
	shards [64]struct {
		mu sync.RWMutex
		of map[place]tombstone
	}
}

type tombstone struct {
	floor ID
	why   *Refusal
	until instant
}

const (
	// tombstoneTime is how long an end is remembered: longer than any answer from
	// before it may be believed.
	tombstoneTime = instant(2*maxBelieve + time.Minute)
	// maxBelieve is the longest that an answer is repeated, whatever the server
	// says. Its own limit is a minute, or four times the bound.
	maxBelieve = 5 * time.Minute
	// maxTombstones is how many ends are remembered, in each shard.
	maxTombstones = 1 << 15
)

func shardOf(user ID) int { return int(uint64(user) * 0x9e3779b97f4a7c15 >> 58) }

// find says why the session there with that ID is over, or nil if no end is known.
func (g *tombstones) find(at place, id ID) *Refusal {
	p := &g.shards[shardOf(at.user)]
	p.mu.RLock()
	d, ok := p.of[at]
	p.mu.RUnlock()
	switch {
	case !ok || d.floor < id:
		return nil
	case d.floor == id:
		return d.why
	default: // a later session there has ended since
		return ErrReplaced
	}
}

// add notes an end. It reports false if there are too many.
func (g *tombstones) add(at place, id ID, why *Refusal, now instant) bool {
	p := &g.shards[shardOf(at.user)]
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.of[at]
	if !ok || d.floor <= id {
		d.floor, d.why = id, why
	}
	d.until = now + tombstoneTime
	p.of[at] = d
	looked := 0
	for other, d := range p.of { // in an order of chance, so that all get their turn
		if looked++; looked > 4 {
			break
		}
		if now > d.until {
			delete(p.of, other)
		}
	}
	return len(p.of) <= maxTombstones
}

func (g *tombstones) clear() {
	for i := range g.shards {
		p := &g.shards[i]
		p.mu.Lock()
		clear(p.of)
		p.mu.Unlock()
	}
}
