//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package simulation

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A database keeps the logins of each user in slots, and one policy, with the locks and the
// isolation (READ COMMITTED) by which sqlstore uses MySQL: a change is stamped
// by the clock of its statement and visible when it is committed, and rows stay
// locked until then.
type database struct {
	rules
	mu    sync.Mutex
	r     *rand.Rand
	tau   time.Duration // how long a caller waits for a verb
	mood  dbMood
	marks []mark      // of its clock
	users []*row      // that of slot 0 of each
	last  idworker.ID // of those that were minted
	busy  int         // changes that are under way

	global   idworker.ID
	policy   policy.Policy
	settings lock
	// slots is how many further ones any policy has ever allowed. No user has more sessions
	// than reducedTo.
	slots, reducedTo int
	changed          time.Time // when the policy was, by the clock of then

	history
}

// A dbMood is what is wrong with the database, as probabilities.
type dbMood struct {
	late float64 // a commit takes up to 3 s
	hang float64 // a commit takes up to 20 s
	lose float64 // a commit is rolled back after that time
	deaf float64 // of those that take long: it is visible at once, and only its answer is late
}

type row struct {
	id       idworker.ID // of the user
	slot     session.Slot
	user     *row   // that of slot 0
	further  []*row // of slot 0: those of the further slots
	lock     lock
	current  session.Session // its ID is 0 if there is none
	ended    session.Session
	floor    idworker.ID
	stamp    time.Time
	disabled bool // of slot 0
}

const (
	// late is what a change may take from its stamp to its commit without being
	// stamped anew.
	late = time.Second
	// lockWait is how long a statement waits for a lock.
	lockWait = 2 * time.Second
)

var (
	errMoved    = errors.New("simulation: the row changed meanwhile")
	errDisabled = errors.New("simulation: the account is disabled")
	errAborted  = errors.New("simulation: rolled back")
	errLockWait = errors.New("simulation: waited too long for a lock")
)

func newDatabase(p plan, without rule) *database {
	d := &database{
		rules: rules{without}, r: rand.New(rand.NewPCG(p.seed, 1000)), tau: 3 * time.Second, policy: p.policy,
		history: history{logins: map[idworker.ID]*life{}},
	}
	if without == promptOrAgain {
		d.tau = 25 * time.Second // the limit, too, keeps what is acknowledged within the feed's window
	}
	now := time.Now()
	d.marks = []mark{{now, now.Add(p.ahead), 0}}
	d.policies = []inForce{{now, d.policy}}
	d.changed = d.now()
	d.slots, d.reducedTo = d.policy.MaxSessions-1, d.policy.MaxSessions
	for i := range p.people {
		u := &row{id: idworker.ID(i + 1)}
		u.user = u
		d.users = append(d.users, u)
	}
	return d
}

// A mark says what the clock showed then, and at which rate it ran on: 0 is the
// rate of all other clocks.
type mark struct {
	at, shown time.Time
	rate      float64
}

func (d *database) shown(at time.Time) time.Time {
	i := len(d.marks) - 1
	for i > 0 && d.marks[i].at.After(at) {
		i--
	}
	m := d.marks[i]
	ran := at.Sub(m.at)
	return m.shown.Add(ran + time.Duration(m.rate*float64(ran))).Round(0).Truncate(time.Millisecond).UTC()
}

// now is what the clock shows. The caller holds mu.
func (d *database) now() time.Time { return d.shown(time.Now()) }

// slew makes the clock run at another rate.
func (d *database) slew(rate float64) { d.step(0, rate) }

// setBack is a failover to a server whose clock is behind.
func (d *database) setBack(by time.Duration) { d.step(-by, 0) }

func (d *database) step(by time.Duration, rate float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	m := d.marks[len(d.marks)-1]
	ran := now.Sub(m.at)
	d.marks = append(d.marks, mark{now, m.shown.Add(by + ran + time.Duration(m.rate*float64(ran))), rate})
}

func (d *database) set(m dbMood) { d.mu.Lock(); d.mood = m; d.mu.Unlock() }

// between is the time between two statements of a transaction.
func (d *database) between() {
	d.mu.Lock()
	pause := time.Duration(1 + d.r.Int64N(400_000))
	d.mu.Unlock()
	time.Sleep(pause)
}

func (d *database) mint(above idworker.ID, skew time.Duration) idworker.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = max(d.last, above, idworker.Default().Smallest(time.Now().Add(skew))) + 1
	return d.last
}

// holder is the row of that login: as the one that it has, or as the one that it
// had before. The caller holds mu.
func (d *database) holder(id idworker.ID, before bool) *row {
	for _, u := range d.all() {
		if !before && u.current.ID == id || before && u.ended.ID == id {
			return u
		}
	}
	return nil
}

// now is the login that the row has, as an instance reads it.
func (d *database) currentOf(u *row, asOf time.Time) session.Session {
	s := u.current
	s.AsOf, s.Source = asOf, session.FromDatabase
	switch {
	case u.user.disabled:
		s.Ended = session.Disabled
	case s.ID <= max(u.floor, d.global):
		s.Ended = session.Revoked
	}
	return s
}

func (d *database) endedOf(u *row, asOf time.Time) session.Session {
	s := u.ended
	s.AsOf, s.Source = asOf, session.FromDatabase
	return s
}

// highest is an ID that no login of this user has exceeded.
func (d *database) highest(u *row) (id idworker.ID) {
	for _, r := range slotsOf(u) {
		id = max(id, r.current.ID, r.floor, r.ended.ID, d.global)
	}
	return id
}

// end is what an UPDATE that ends the login of a row sets.
func (d *database) end(u *row, why session.Reason, stamp time.Time) {
	if u.current.ID == 0 {
		return
	}
	d.died(u.current.ID, stamp, why)
	u.floor, u.stamp = max(u.floor, u.current.ID), stamp
	u.ended, u.current = u.current, session.Session{}
	u.ended.Ended = why
}

// stampNow is what an UPDATE sets that ends no login.
func (d *database) stampNow(u *row, stamp time.Time) {
	if u.floor > 0 && d.has(stampAlways) {
		u.stamp = stamp
	}
}
