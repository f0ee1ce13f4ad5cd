package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

var errDenied = errors.New("simulation: the login that acts has ended")

// slotsOf are the rows of a user, that of slot 0 first: the order in which all lock them.
func slotsOf(u *row) []*row { return append([]*row{u}, u.further...) }

// all are the rows of all users.
func (d *database) all() (rows []*row) {
	for _, u := range d.users {
		rows = append(rows, slotsOf(u)...)
	}
	return rows
}

// everyRow is all for who does not hold mu.
func (d *database) everyRow() []*row { d.mu.Lock(); defer d.mu.Unlock(); return d.all() }

// acts reports whether a user has that login, and may act by it.
func (d *database) acts(u *row, by idworker.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.rowsOf(u, time.Time{}), func(r slot) bool { return r.ID == by && r.Alive() })
}

// heldBy is the number of sessions that the rows of a user have. The caller holds mu.
func heldBy(u *row) (n int) {
	for _, r := range slotsOf(u) {
		if r.current.ID != 0 {
			n++
		}
	}
	return n
}

// excess reports whether a read that finds this row has to have the rows counted.
func (d *database) excess(u *row) bool {
	held := heldBy(u.user)
	lowered := held > 1 && d.reducedTo > d.policy.MaxSessions && d.has(countClasses)
	return d.slots > 0 && u.current.ID != 0 && d.has(countReads) && (held > max(d.policy.MaxSessions, 1) || lowered)
}

// A slot is what a transaction has read of a row without a lock.
type slot struct {
	row *row
	session.Session
}

// rowsOf is that of all slots of a user. The caller holds mu.
func (d *database) rowsOf(u *row, asOf time.Time) (rows []slot) {
	for _, r := range slotsOf(u) {
		rows = append(rows, slot{r, d.currentOf(r, asOf)})
	}
	return rows
}

func sessionsOf(rows []slot) (held []session.Session) {
	for _, r := range rows {
		if r.ID != 0 {
			held = append(held, r.Session)
		}
	}
	return held
}

func rowIn(rows []slot, at session.Slot) *row {
	for _, r := range rows {
		if r.row.slot == at {
			return r.row
		}
	}
	return nil
}

// overBy reports whether a floor, or the policy of now, has ended a session.
func overBy(p policy.Policy, now time.Time) func(*session.Session) bool {
	return func(s *session.Session) bool {
		why, _ := judgeBy(&p, true, scopeOf(s), s.ID, s.Seen, now)
		return !s.Alive() || why != ""
	}
}

// hold takes the lock of a row, unless this transaction has it.
func (t *tx) hold(u *row) error {
	if slices.Contains(t.held, u) {
		return nil
	}
	if err := t.take(&u.lock, false); err != nil {
		return err
	}
	t.held = append(t.held, u)
	return nil
}

// endRow is the UPDATE that ends the session that a row had when it was read. What it does
// is visible with the commit.
func (t *tx) endRow(u *row, id idworker.ID, why session.Reason) (func(), error) {
	if err := t.next(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	stamp := t.now()
	t.mu.Unlock()
	if err := t.hold(u); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.current.ID != id {
		return nil, errMoved
	}
	return func() { t.database.end(u, why, stamp) }, nil
}

// endSlots ends the sessions of those rows but the one with the ID keep, and stamps the
// others anew if any ends, or always. It returns what it ended, as it was.
func (t *tx) endSlots(rows []slot, why session.Reason, keep idworker.ID, always bool) (was []session.Session, changes []func(), err error) {
	for _, r := range rows {
		if r.ID == 0 || r.ID == keep || !r.Alive() && r.Ended != session.Disabled {
			continue
		}
		change, err := t.endRow(r.row, r.ID, why)
		if err != nil {
			return nil, nil, err
		}
		r.Ended = why
		was, changes = append(was, r.Session), append(changes, change)
	}
	if len(was) == 0 && !always {
		return nil, nil, nil
	}
	for _, r := range rows {
		if r.ID != 0 {
			continue
		}
		if err := t.next(); err != nil {
			return nil, nil, err
		}
		t.mu.Lock()
		stamp := t.now()
		t.mu.Unlock()
		if err := t.hold(r.row); err != nil {
			return nil, nil, err
		}
		changes = append(changes, func() { t.stampNow(r.row, stamp) })
	}
	return was, changes, nil
}

// endUser is EndUser where there may be further slots.
func (l *link) endUser(ctx context.Context, e session.Ending, keep idworker.ID) ([]session.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	var start time.Time
	was, err := again(ctx, l, 0, func() ([]session.Session, error) {
		start = time.Now()
		t := l.begin(ctx)
		defer t.end()
		return t.endUser(l.users[e.UserID-1], e, keep, l.clock())
	})
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return nil, err
	}
	if (len(was) == 0 || was[0].Before) && l.has(stampAlways) {
		start = time.Time{}
	}
	if failed := l.restamp(ctx, e.UserID, start); failed != nil && l.has(stampOrFail) {
		err = failed
	}
	return was, err
}

func (t *tx) endUser(u *row, e session.Ending, keep idworker.ID, asOf time.Time) (was []session.Session, err error) {
	if err := t.hold(u); err != nil {
		return nil, err
	}
	if err := t.next(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	rows := t.rowsOf(u, asOf)
	t.mu.Unlock()
	if by := actor(e); by != 0 && !t.acts(u, by) {
		return nil, errDenied
	}
	if !t.has(everySlot) {
		rows = rows[:1]
	}
	was, changes, err := t.endSlots(rows, e.Reason, keep, false)
	switch {
	case err != nil:
		return nil, err
	case len(was) == 0 && keep != 0:
		return nil, nil
	case len(was) == 0:
		t.mu.Lock()
		defer t.mu.Unlock()
		was = t.endedBefore(rows, e.Reason, asOf)
		if len(was) == 0 {
			return nil, session.ErrNotFound
		}
		return was, nil
	}
	return was, t.commitAll(changes)
}

// endedBefore are the last sessions in rows of which none lives, as far as they ended for
// that reason.
func (d *database) endedBefore(rows []slot, why session.Reason, asOf time.Time) (was []session.Session) {
	for _, r := range rows {
		last := d.endedOf(r.row, asOf)
		switch {
		case r.ID != 0 && !r.Alive():
			last = r.Session
		case r.ID != 0 || last.Ended != why:
			continue
		}
		last.Before = true
		was = append(was, last)
	}
	return was
}

func (t *tx) commitAll(changes []func()) error {
	if err := t.next(); err != nil {
		return err
	}
	return t.commit(func() {
		for _, change := range changes {
			change()
		}
	})
}

// actor is the login by which a user acts.
func actor(e session.Ending) idworker.ID {
	if e.Record == nil {
		return 0
	}
	return e.Record.By.Session
}

// withinLimit reduces the sessions of a user who has more than are allowed.
func (l *link) withinLimit(ctx context.Context, id idworker.ID) error {
	l.mu.Lock()
	further := l.slots > 0
	l.mu.Unlock()
	if !further {
		return nil
	}
	many, err := ask(ctx, l.wire, func() (*row, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if u := l.holder(id, false); u != nil && l.excess(u) {
			return u.user, nil
		}
		return nil, nil //nolint:nilnil // none has too many
	})
	if err != nil || many == nil {
		return nil //nolint:nilerr // the caller asks again, and says what is wrong
	}
	return l.reduce(ctx, many)
}

// reduce ends the sessions of a user that are too many by the policy in force.
func (l *link) reduce(ctx context.Context, u *row) error {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	var start time.Time
	_, err := again(ctx, l, 0, func() (struct{}, error) {
		start = time.Now()
		t := l.begin(ctx)
		defer t.end()
		return struct{}{}, t.reduce(u, l.clock())
	})
	if err == nil {
		err = l.restamp(ctx, u.id, start)
	}
	return err
}

func (t *tx) reduce(u *row, asOf time.Time) error {
	if err := t.hold(u); err != nil {
		return err
	}
	if err := t.next(); err != nil {
		return err
	}
	t.mu.Lock()
	rows, rule, now := t.rowsOf(u, asOf), t.policy, t.now()
	t.mu.Unlock()
	var changes []func()
	for _, s := range session.Excess(sessionsOf(rows), &rule, overBy(rule, now)) {
		change, err := t.endRow(rowIn(rows, s.Slot), s.ID, session.OverLimit)
		if err != nil {
			return err
		}
		changes = append(changes, change)
	}
	if len(changes) == 0 {
		return nil
	}
	return t.commitAll(changes)
}

// logins is how long a login may take that was decided by the policy of before.
const logins = time.Minute

// Reduce is the part of a sweep that looks for users with too many sessions.
func (l *link) Reduce(ctx context.Context) error {
	type found struct {
		version int64
		many    []*row
		done    bool
	}
	for first := true; ; first = false {
		f, err := ask(ctx, l.wire, func() (f found, err error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			f.version, f.done = l.policy.Version, l.reducedTo <= l.policy.MaxSessions || !l.has(countSweeps)
			for _, u := range l.users {
				if l.tooMany(u) {
					f.many = append(f.many, u)
				}
			}
			return f, nil
		})
		if err != nil || f.done {
			return err
		}
		if len(f.many) == 0 || !first {
			_, err := ask(ctx, l.wire, func() (struct{}, error) {
				l.mu.Lock()
				defer l.mu.Unlock()
				if l.policy.Version == f.version && l.now().Sub(l.changed) >= logins {
					l.reducedTo = l.policy.MaxSessions
				}
				return struct{}{}, nil
			})
			return err
		}
		for _, u := range f.many {
			if err := l.reduce(ctx, u); err != nil {
				return err
			}
		}
	}
}

// rights lets everyone do what changes nothing: the changes look for themselves.
type rights struct{}

func (rights) Authorize(context.Context, audit.Actor, audit.Need) error { return nil }

type eventIDs struct{ mint }

func (e eventIDs) Next(ctx context.Context) (idworker.ID, error) { return e.NextAfter(ctx, 0) }

// devices are what apps say at a login, if there may be several.
var devices = []*session.Device{nil, {Class: "phone"}, {Class: "phone", Name: "a"}, {Class: "web", Name: "a"}, {Class: "tablet", Name: "b"}}

func (w *world) device(r *rand.Rand) *session.Device {
	if w.sessions == 1 && !w.scopes {
		return nil
	}
	return devices[r.IntN(len(devices))]
}

// own ends logins of the user with that login, in one of the ways that people have: all
// others, all, or another one.
func (w *world) own(i *instance, r *rand.Rand, l *login) bool {
	if l == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*clientPatience)
	defer cancel()
	by, before := audit.Actor{ID: l.user, Session: l.id}, w.judge.of(l.user)
	var ended []session.Session
	var err error
	what := "an end of all logins of a user"
	switch r.IntN(3) {
	case 0:
		ended, err = i.service.EndOthers(ctx, by)
		before = slices.DeleteFunc(before, func(b *login) bool { return b == l })
		what = "an end of all other logins"
	case 1:
		ended, err = i.service.EndEverywhere(ctx, by)
	default:
		before = before[r.IntN(len(before)):][:1]
		ended = make([]session.Session, 1)
		ended[0], err = i.service.EndOwn(ctx, by, before[0].id)
		what = "an end of another login"
	}
	if !session.Done(err) {
		return false
	}
	w.judge.acknowledged("", what, before)
	w.judge.acknowledged(i.name, what, slices.DeleteFunc(before, func(b *login) bool {
		return !slices.ContainsFunc(ended, func(s session.Session) bool { return s.ID == b.id })
	}))
	return true
}
