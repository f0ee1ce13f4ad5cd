package judge

import (
	"fmt"
	"slices"
	"time"
)

// A user is what the history says of the logins of one.
type user struct {
	logins   []begun // also those of unknown outcome, in the order of Begin
	sessions []*session
}

// A begun is a login, and its session if it was acknowledged.
type begun struct {
	*Event
	of *session
}

// limitsBetween is the least and the greatest limit that may have been in force between
// from and to.
func (t *trial) limitsBetween(from, to time.Duration) (least, greatest int) {
	for _, p := range t.spans {
		if p.since >= to || p.until <= from {
			continue
		}
		if n := p.most(); least == 0 || n < least {
			least = n
		}
		greatest = max(greatest, p.most())
	}
	return max(least, 1), max(greatest, 1)
}

// makeRoom notes of a user's sessions which logins and lower limits have ended them,
// or may have.
func (t *trial) makeRoom(u *user) {
	for _, s := range u.sessions {
		for _, l := range u.logins {
			if t.replaces(l.Event, s) {
				s.endedBy(l.Event)
			}
		}
		if s.acked != nil {
			s.gone = s.acked.End
		}
		for _, e := range s.asks {
			if e.Answer == No {
				s.gone = min(s.gone, e.End)
			}
		}
	}
	for _, s := range u.sessions {
		for _, l := range u.logins {
			if l.of == s || l.of != nil && l.Session < s.id {
				continue
			}
			to := l.decided(t.Entry)
			least, _ := t.limitsBetween(l.Begin, to)
			if sameDevice(l.Event, s.login) || t.crowdedOut(u, s, l.Event, l.Begin, to, to) >= least-1 {
				s.ends = append(s.ends, l.Event)
			}
		}
		for i, p := range t.spans {
			if to := p.event.decided(t.Entry); lowers(t.spans, i) && t.crowdedOut(u, s, p.event, p.since, to, p.until) >= p.most() {
				s.ends = append(s.ends, p.event)
			}
		}
	}
}

// decided is until when a request may have been decided.
func (e *Event) decided(entry time.Duration) time.Duration {
	if e.Answer == Yes {
		return e.End
	}
	return e.End + entry
}

// lowers reports whether the limit of the span at i may be below one before it.
func lowers(all []span, i int) bool {
	return slices.ContainsFunc(all[:i], func(before span) bool { return before.until >= all[i].since && all[i].most() < before.most() })
}

func sameDevice(a, b *Event) bool { return a.Device != "" && a.Device == b.Device }

// replaces reports whether an acknowledged login has surely ended a session: the IDs of
// a user grow in the order of their logins.
func (t *trial) replaces(l *Event, s *session) bool {
	if l.Answer != Yes || l.Session <= s.id {
		return false
	}
	_, greatest := t.limitsBetween(l.Begin, l.End)
	return greatest == 1 || sameDevice(l, s.login)
}

// crowdedOut is how many sessions on other devices may have been used more recently than
// s when e was decided, between from and to, by uses until then. Of one named device one
// counts, for a login there replaces the one before. Where s was not there it is -1.
func (t *trial) crowdedOut(u *user, s *session, e *Event, from, to, until time.Duration) (n int) {
	if s.login.Begin >= to || s.gone < from {
		return -1
	}
	seen, counted := t.seen(s, from), map[string]bool{}
	for _, l := range u.logins {
		switch {
		case l.Event == e, l.of == s, l.Begin >= to, sameDevice(l.Event, s.login), counted[l.Device]:
		case e.Op == Login && (sameDevice(l.Event, e) || l.of != nil && e.Answer == Yes && l.Session > e.Session):
		case l.of != nil && (l.of.gone < from || l.of.lastUse(until) < seen):
		default:
			counted[l.Device] = l.Device != ""
			n++
		}
	}
	return n
}

// seen is a lower bound of the time of use that the row of a session had at that
// instant. Rows have milliseconds, rounded down.
func (t *trial) seen(s *session, by time.Duration) time.Duration {
	last := s.login.Begin
	for _, e := range s.asks {
		if e.Answer == Yes && e.HasTimes && e.End <= by {
			last = max(last, min(t.earliest(e.Seen), e.End))
		}
	}
	return last - time.Millisecond
}

// lastUse is an upper bound of the time of the last use that began before that instant.
func (s *session) lastUse(by time.Duration) time.Duration {
	last := s.login.End
	for _, e := range s.asks {
		switch {
		case e.Passive || e.Answer == No || e.Begin >= by:
		case e.Answer == None:
			return never
		default:
			last = max(last, e.End)
		}
	}
	return last
}

// limited is the last of the logins and limits that can be why r said that the session
// is over, if nothing else can, and all of them were acknowledged. A refusal for its age or
// its idleness is none for a limit.
func (s *session) limited(r *Event) (last *Event) {
	if r.Op != Ask || s.acked != nil || r.Code == expired || r.Code == idle {
		return nil
	}
	for _, e := range s.ends {
		switch {
		case e.Begin >= r.End:
		case e.Answer != Yes || e.Op != Login && e.Op != SetPolicy:
			return nil
		case last == nil || e.End > last.End:
			last = e
		}
	}
	return last
}

// limits looks for users who have more sessions than the policy allows: an accept says
// that the session was in its row a bound before. What is too many ends for good when
// one of the user's is asked about while the lower limit is in force; until then it
// may live on under a higher one.
func (t *trial) limits() {
	for _, u := range t.users {
		for _, p := range t.spans {
			if p.known == never {
				continue
			}
			last := u.lastAccepts(p.sure)
			for _, e := range last {
				if e.Begin > p.known+t.Bound && e.End < p.sure {
					last = u.lastAccepts(never)
					break
				}
			}
			t.crowded(u, last, p, p.known)
			t.listed(u, p)
			for _, s := range u.sessions {
				t.crowded(u, last, p, s.login.End)
			}
		}
	}
}

// listed looks for a list that shows more sessions of a user than the policy allows.
func (t *trial) listed(u *user, p span) {
	for i := range t.events {
		e := &t.events[i]
		if e.Op != List || e.Answer != Yes || e.Rows || e.Begin <= p.known+t.Bound || e.End >= p.sure {
			continue
		}
		var shown []*session
		for _, s := range u.sessions {
			if e.Listed[s.id] {
				shown = append(shown, s)
			}
		}
		if n := p.most(); len(shown) > n {
			t.fault(4, shown[0], fmt.Sprintf("one of %d logins of a user on a list, and the limit is %d", len(shown), n), p.event, e)
		}
	}
}

// lastAccepts is the last accept of each session that began before that instant.
func (u *user) lastAccepts(before time.Duration) map[*session]*Event {
	last := map[*session]*Event{}
	for _, s := range u.sessions {
		for _, e := range s.asks {
			if e.Answer == Yes && e.Begin < before {
				last[s] = e
			}
		}
	}
	return last
}

// crowded looks at one instant of a policy.
func (t *trial) crowded(u *user, last map[*session]*Event, p span, at time.Duration) {
	if at < p.known || at > p.sure {
		return
	}
	var living []*session
	for _, s := range u.sessions {
		if e := last[s]; e != nil && s.login.End <= at && e.Begin-t.Bound > at {
			living = append(living, s)
		}
	}
	if len(living) <= p.most() {
		return
	}
	shown := []*Event{p.event}
	for _, s := range living {
		shown = append(shown, s.login, last[s])
	}
	t.fault(1, living[0], fmt.Sprintf("one of the %d logins of a user that lived at %.3f, and the limit is %d; the bound is %v", len(living), at.Seconds(), p.most(), t.Bound), shown...)
}
