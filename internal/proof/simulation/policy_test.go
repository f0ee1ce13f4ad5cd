package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

var layout = idworker.Default()

// judgeBy is the word of a policy on a login, and whether it is certain: while a
// change of the policy is under way, only what is below the bases is.
func judgeBy(p *policy.Policy, steady bool, of policy.Scope, id idworker.ID, seen, now time.Time) (why session.Reason, certain bool) {
	issued, e := layout.Time(id), p.For(of.Class, of.Role)
	switch {
	case e.Expired(issued, now):
		return session.Expired, steady || !issued.After(e.AbsoluteBase)
	case e.Idled(seen, now):
		return session.Idle, steady || !seen.After(e.IdleBase)
	}
	return "", true
}

func use(p *policy.Policy, of policy.Scope, seen, used, now time.Time) time.Time {
	if used.After(now) {
		used = now
	}
	if used.Sub(seen) < p.For(of.Class, of.Role).Touch {
		return seen
	}
	return used.Truncate(time.Millisecond).UTC()
}

const settleTries = 5

// Settle locks the row, reads the policy after, judges, and writes the use.
func (l *link) Settle(ctx context.Context, id idworker.ID, used time.Time) (session.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	if err := l.withinLimit(ctx, id); err != nil {
		return session.Session{}, err
	}
	return again(ctx, l, settleTries, func() (session.Session, error) {
		t := l.begin(ctx)
		defer t.end()
		return t.settle(id, used, l.clock())
	})
}

func (t *tx) settle(id idworker.ID, used, asOf time.Time) (got session.Session, err error) {
	t.mu.Lock()
	u := t.holder(id, false)
	t.mu.Unlock()
	if u == nil {
		t.between()
		t.mu.Lock()
		defer t.mu.Unlock()
		if u = t.holder(id, true); u == nil {
			return got, session.ErrNotFound
		}
		return t.endedOf(u, asOf), nil
	}
	if err := t.next(); err != nil {
		return got, err
	}
	if t.has(lockedNo) {
		if err := t.take(&u.lock, false); err != nil {
			return got, err
		}
	}
	t.mu.Lock()
	got = t.currentOf(u, asOf)
	t.mu.Unlock()
	if got.ID != id {
		return got, errMoved
	}
	if err := t.next(); err != nil {
		return got, err
	}
	steady := !t.has(fence) || t.takeNow(&t.settings, true)
	t.mu.Lock()
	rule, now := t.policy, t.now()
	if id <= t.global {
		got.Ended = session.Revoked
	}
	if !got.Alive() {
		t.mu.Unlock()
		return got, nil
	}
	why, certain := judgeBy(&rule, steady, scopeOf(&got), id, got.Seen, now)
	at := use(&rule, scopeOf(&got), got.Seen, used, now)
	write := certain && why == "" && at.After(got.Seen) && t.has(nearWrite)
	if write {
		t.undo = append(t.undo, t.using(id))
	}
	t.mu.Unlock()
	switch {
	case !certain:
		return session.Session{}, session.ErrUnsettled
	case why != "":
		got.Ended = why
		return got, nil
	case !write:
		return got, nil
	}
	if err := t.next(); err != nil {
		return got, err
	}
	if !t.has(lockedNo) {
		if err := t.take(&u.lock, false); err != nil {
			return got, err
		}
	}
	err = t.commit(func() { t.wasUsed(u, id, at) })
	got.Seen = at
	return got, err
}

// TouchAll writes times of last use, of those rows that no other transaction holds.
func (l *link) TouchAll(ctx context.Context, seen map[idworker.ID]time.Time, gap time.Duration) (map[idworker.ID]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	rows, err := again(ctx, l, 0, func() (map[idworker.ID]time.Time, error) {
		t := l.begin(ctx)
		defer t.end()
		return t.touch(seen, gap)
	})
	if err != nil {
		return nil, err // what was read counts only if it is committed
	}
	return rows, nil
}

func (t *tx) touch(seen map[idworker.ID]time.Time, gap time.Duration) (map[idworker.ID]time.Time, error) {
	rows := make(map[idworker.ID]time.Time, len(seen))
	users := map[*row]idworker.ID{}
	t.mu.Lock()
	for id := range seen {
		rows[id] = time.Time{}
		if u := t.holder(id, false); u != nil {
			users[u] = id
		}
	}
	t.mu.Unlock()
	if len(users) == 0 {
		return rows, nil
	}
	if err := t.next(); err != nil {
		return nil, err
	}
	var held []*row
	for _, u := range t.everyRow() {
		if id, ok := users[u]; ok {
			if t.takeNow(&u.lock, false) {
				held = append(held, u)
			} else {
				delete(rows, id)
			}
		}
	}
	if err := t.next(); err != nil {
		return nil, err
	}
	moved := map[*row]time.Time{}
	t.mu.Lock()
	now := t.now()
	for _, u := range held {
		id := users[u]
		got := t.currentOf(u, time.Time{})
		if got.ID != id || !got.Alive() {
			continue
		}
		if why, _ := judgeBy(&t.policy, true, scopeOf(&got), id, got.Seen, now); why != "" {
			continue
		}
		rows[id] = got.Seen
		if at := seen[id].Truncate(time.Millisecond).UTC(); !at.Before(got.Seen.Add(gap)) {
			rows[id], moved[u] = at, at
			t.undo = append(t.undo, t.using(id))
		}
	}
	t.mu.Unlock()
	if len(moved) == 0 {
		return rows, nil
	}
	if err := t.next(); err != nil {
		return nil, err
	}
	return rows, t.commit(func() {
		for u, at := range moved {
			t.wasUsed(u, users[u], at)
		}
	})
}

// SetPolicy locks the settings, computes the bases, and commits later.
func (l *link) SetPolicy(ctx context.Context, version int64, next policy.Policy) error {
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	_, err := again(ctx, l, 0, func() (struct{}, error) {
		t := l.begin(ctx)
		defer t.end()
		return struct{}{}, t.setPolicy(version, next)
	})
	return err
}

func (t *tx) setPolicy(version int64, next policy.Policy) error {
	if err := t.take(&t.settings, false); err != nil {
		return err
	}
	if err := t.next(); err != nil {
		return err
	}
	t.mu.Lock()
	if t.policy.Version != version {
		t.mu.Unlock()
		return policy.ErrVersion
	}
	changed := t.now()
	old := t.policy
	if !t.has(keptScopes) {
		old.Scopes = nil
	}
	next = old.Succeed(next, changed)
	t.undo = append(t.undo, t.changing())
	t.mu.Unlock()
	if err := t.next(); err != nil {
		return err
	}
	return t.commit(func() {
		reducedTo := next.MaxSessions
		if t.policy.Lowers(&next) || next.LimitsClasses() && t.has(pendingClass) {
			reducedTo = max(t.policy.MaxSessions, next.MaxSessions+1)
		}
		t.slots, t.reducedTo = max(t.slots, next.MaxSessions-1), max(t.reducedTo, reducedTo)
		t.inForceNow(next, shortens(&t.policy, &next))
		t.policy, t.changed = next, changed
	})
}

// Sweep clears the rows of what is over by the policy that the caller knows and by
// the one in force. It returns what it cleared.
func (l *link) Sweep(ctx context.Context, known policy.Policy, pause time.Duration) ([]idworker.ID, error) {
	over := func(u *row, rule *policy.Policy, now time.Time) (session.Reason, bool) {
		if u.current.ID == 0 {
			return "", false
		}
		if u.current.ID <= l.global {
			return session.Revoked, true
		}
		why, _ := judgeBy(rule, true, scopeOf(&u.current), u.current.ID, u.current.Seen, now)
		return why, why != ""
	}
	type listed struct {
		id  idworker.ID
		why session.Reason
	}
	found, err := ask(ctx, l.wire, func() (map[*row]listed, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		found, now := map[*row]listed{}, l.now()
		for _, u := range l.all() {
			if why, ok := over(u, &known, now); ok {
				found[u] = listed{u.current.ID, why}
			}
		}
		return found, nil
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	time.Sleep(pause) //nolint:forbidigo // in a bubble
	ctx, cancel := context.WithTimeout(ctx, l.tau)
	defer cancel()
	return ask(ctx, l.wire, func() ([]idworker.ID, error) {
		t := l.begin(ctx)
		defer t.end()
		if t.has(sweepFence) {
			if err := t.take(&t.settings, true); err != nil {
				return nil, err
			}
		}
		if err := t.next(); err != nil {
			return nil, err
		}
		var held []*row
		for _, u := range t.everyRow() {
			if was, ok := found[u]; ok && t.takeNow(&u.lock, false) {
				t.mu.Lock()
				_, still := over(u, &t.policy, t.now())
				if u.current.ID == was.id && (still || !t.has(sweepFence)) {
					held = append(held, u)
				}
				t.mu.Unlock()
			}
		}
		if len(held) == 0 {
			return nil, nil
		}
		if err := t.next(); err != nil {
			return nil, err
		}
		var cleared []idworker.ID
		err := t.commit(func() {
			for _, u := range held {
				cleared = append(cleared, u.current.ID)
				t.swept(u, found[u].why)
			}
		})
		slices.Sort(cleared)
		return cleared, err
	})
}

// swept clears a row without a stamp.
func (t *tx) swept(u *row, why session.Reason) {
	if t.lives(t.logins[u.current.ID]) {
		t.cleared = append(t.cleared, u.current.ID)
	}
	stamp := u.stamp
	t.database.end(u, why, t.now())
	u.stamp = stamp
}
