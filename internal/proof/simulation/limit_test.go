package simulation

import (
	"slices"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// An accept is of a question that was asked and told, by the true time.
type accept struct{ asked, told time.Time }

// withinLimit holds that no user has more sessions at once, on all devices and on each class of them, than the policy in force
// allows, but for the bound after it has been lowered. The caller holds the database's mu.
//
// A session that was accepted lived, by its row, from its first accept until the bound
// before its last one. While one limit is in force, no more than that many live at once.
func (j *judge) withinLimit() {
	policies := j.db.policies
	for i, p := range policies {
		for _, class := range append([]string{""}, overridden...) {
			until := time.Now()
			for _, next := range policies[i+1:] {
				if next.MostOn(class) > p.MostOn(class) {
					until = next.at
					break
				}
			}
			for _, u := range j.db.users {
				at, many := j.most(u.id, class, p.at, until)
				if n := p.MostOn(class); len(many) > n {
					j.blameFor(many[0], "Limit: %d logins of user %d on devices of class %q are accepted at %s, where %d are allowed since %s", len(many), u.id, class, clock(at), n, clock(p.at))
					return
				}
			}
		}
	}
}

// most are the logins of a user, on devices of that class if it is not empty, that lived at
// one instant, by what was accepted from since to until: the instant with the most.
func (j *judge) most(user idworker.ID, class string, since, until time.Time) (at time.Time, most []*login) {
	lived := map[*login]span{}
	for _, l := range j.logins {
		if l.user != user || class != "" && l.of.Class != class || l.late { // what ended late, and not acknowledged, may spread
			continue
		}
		var s span
		for _, a := range l.accepts {
			if a.told.Before(until) { // else a higher limit may have been asked
				s.to = later(s.to, a.asked.Add(-j.bound-slack))
				if s.from.IsZero() || a.told.Before(s.from) {
					s.from = a.told
				}
			}
		}
		if s.from = later(s.from, since); s.from.Before(s.to) {
			lived[l] = s
		}
	}
	for _, begun := range lived {
		var here []*login
		for l, s := range lived {
			if s.has(begun.from) {
				here = append(here, l)
			}
		}
		if len(here) > len(most) {
			at, most = begun.from, here
		}
	}
	slices.SortFunc(most, func(a, b *login) int { return int(a.id - b.id) })
	return at, most
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// returns holds that a session that the limit has ended does not come back: nobody has
// acknowledged that end, so it counts from when the row has it.
func (j *judge) returns(l *login, a *answer) {
	if l.why == session.OverLimit && !l.late && a.asked.Sub(l.died) > j.bound+slack {
		j.blameFor(l, "Limit: %s believes %v asked %v after the limit has ended it", a.by, l.id, a.asked.Sub(l.died))
	}
}

// limited is how many logins have ended because of a lower limit.
func (j *judge) limited() (n int) {
	for _, l := range j.db.logins {
		if l.why == session.OverLimit {
			n++
		}
	}
	return n
}

// reduced has the sweep look for users with too many logins, as it does all the time, and
// holds that no row has more than are allowed then.
func (w *world) reduced() {
	i := w.places[0].instance.Load()
	if err := i.db.Reduce(w.ctx); err != nil {
		w.judge.blame("Limit: no sweep succeeds, long after all trouble is over: %v", err)
	}
	<-time.After(2 * w.bound) // polls bring what it has ended
	w.db.mu.Lock()
	defer w.db.mu.Unlock()
	for _, u := range w.db.users {
		if w.db.tooMany(u) {
			w.judge.blame("Limit: user %d has %d logins, long after all trouble is over; %d are allowed: %+v", u.id, heldBy(u), w.db.policy.MaxSessions, w.db.policy.Overrides)
		}
	}
}
