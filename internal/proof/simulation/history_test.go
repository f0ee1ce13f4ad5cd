package simulation

import (
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A history is what has become visible in the database, and when, by the true
// time. The judge goes by it. The caller of its methods holds the database's mu.
type history struct {
	logins   map[idworker.ID]*life
	policies []inForce
	changes  []span // in which a change of the policy was under way
	shorter  time.Time
	cleared  []idworker.ID // that a sweep has cleared while they lived
}

// A life is that of one login.
type life struct {
	id   idworker.ID
	user idworker.ID
	slot session.Slot
	of   policy.Scope
	seen []seenAt
	uses []span    // in which a use was being written
	died time.Time // its row said that it has ended; zero if it does not yet
	why  session.Reason
	late bool // that was committed later than the feed looks back
	// forgotten says that a logout found no row that knows the login: two others of
	// its user have begun since. That end cannot be stamped then.
	forgotten bool
}

type (
	seenAt  struct{ at, seen time.Time }
	inForce struct {
		at time.Time
		policy.Policy
	}
	// A span is over at to, or goes on if that is zero.
	span struct{ from, to time.Time }
)

func (s span) has(at time.Time) bool {
	return !at.Before(s.from) && (s.to.IsZero() || at.Before(s.to))
}

// window is what the feed looks back, less what rounding takes.
const window = 5900 * time.Millisecond

func (d *database) born(s session.Session) {
	d.logins[s.ID] = &life{id: s.ID, user: s.UserID, slot: s.Slot, of: scopeOf(&s), seen: []seenAt{{time.Now(), s.Seen}}}
	if s.ID <= d.global { // all were ended while it began
		d.died(s.ID, d.now(), session.Revoked)
	}
}

func (d *database) died(id idworker.ID, stamp time.Time, why session.Reason) {
	if l := d.logins[id]; l != nil && l.died.IsZero() {
		l.died, l.why = time.Now(), why
		l.late = d.now().Sub(stamp) > window
	}
}

// using notes that a use is being written, and returns what is to be called when
// it is not any more.
func (d *database) using(id idworker.ID) func() {
	l := d.logins[id]
	n := len(l.uses)
	l.uses = append(l.uses, span{from: time.Now()})
	return func() { d.mu.Lock(); l.uses[n].to = time.Now(); d.mu.Unlock() }
}

func (d *database) wasUsed(u *row, id idworker.ID, at time.Time) {
	if u.current.ID != id || !at.After(u.current.Seen) {
		return
	}
	u.current.Seen = at
	l := d.logins[id]
	l.seen = append(l.seen, seenAt{time.Now(), at})
}

func (d *database) changing() func() {
	n := len(d.changes)
	d.changes = append(d.changes, span{from: time.Now()})
	return func() { d.mu.Lock(); d.changes[n].to = time.Now(); d.mu.Unlock() }
}

func (d *database) inForceNow(p policy.Policy, shorter bool) {
	now := time.Now()
	d.policies = append(d.policies, inForce{now, p})
	if shorter {
		d.shorter = now
	}
}

// ruled is the policy that was in force then.
func (d *database) ruled(at time.Time) *policy.Policy {
	i := len(d.policies) - 1
	for i > 0 && d.policies[i].at.After(at) {
		i--
	}
	return &d.policies[i].Policy
}

func (l *life) seenThen(at time.Time) time.Time {
	i := len(l.seen) - 1
	for i > 0 && l.seen[i].at.After(at) {
		i--
	}
	return l.seen[i].seen
}

// overThen is the word of the policy then in force on that login as its row was
// then, and whether nothing was under way that could make another of it.
func (d *database) overThen(l *life, at time.Time) (why session.Reason, certain bool) {
	steady := true
	for _, c := range d.changes {
		steady = steady && !c.has(at)
	}
	why, certain = judgeBy(d.ruled(at), steady, l.of, l.id, l.seenThen(at), d.shown(at))
	for _, u := range l.uses {
		certain = certain && !u.has(at)
	}
	return why, certain
}

// lives is the truth of now: what the row says, by the policy in force.
func (d *database) lives(l *life) bool { return d.livedAt(l, d.now()) }

// livedAt is what the row says, by the policy in force, at an instant of the
// database's clock.
func (d *database) livedAt(l *life, now time.Time) bool {
	if !l.died.IsZero() {
		return false
	}
	why, _ := judgeBy(&d.policy, true, l.of, l.id, l.seen[len(l.seen)-1].seen, now)
	return why == ""
}
