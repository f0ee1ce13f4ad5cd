package judge

import (
	"fmt"
	"slices"
	"time"
)

// The codes of a policy's ends.
const (
	idle    = "token_idle_timeout"
	expired = "token_expired"
)

// accepts looks for points 1 and 3: what lives though its end was acknowledged,
// or though the policy has ended it.
func (t *trial) accepts(s *session, alive []*Event) {
	for _, a := range alive {
		if s.acked != nil {
			late := a.Begin - s.acked.End
			if a.Op == Ask {
				t.Longest = max(t.Longest, late)
			}
			switch {
			case a.Op == List && late > 0:
				t.fault(3, s, fmt.Sprintf("listed as living %v after its end was acknowledged", late), s.acked, a)
			case late > t.Bound:
				t.Late++
				t.fault(1, s, fmt.Sprintf("accepted %v after its end was acknowledged; the bound is %v", late, t.Bound), s.acked, a)
			}
		}
		if over, p, ok := t.surelyOver(s, a); ok && a.Begin > over+t.Bound {
			t.fault(1, s, fmt.Sprintf("accepted %v after the policy had ended it at %.3f; the bound is %v", a.Begin-over, over.Seconds(), t.Bound),
				p.event, a)
		}
	}
}

// surelyOver is the first instant known at which the policy had ended the
// session for what was asked at a, wherever within its request each use fell.
func (t *trial) surelyOver(s *session, a *Event) (over time.Duration, by span, ok bool) {
	used := s.login.End
	for _, e := range s.asks {
		if e.Begin < a.Begin && !e.Passive && e.Answer != No {
			used = max(used, e.End)
		}
	}
	over = never
	for _, p := range t.spans {
		if p.known == never {
			continue
		}
		try := func(at time.Duration) {
			if at = max(at, p.known); at <= p.sure && at < over {
				over, by, ok = at, p, true
			}
		}
		if s.login.HasTimes {
			try(t.latest(s.login.Issued) + p.of(s.login).Absolute)
		}
		if !s.uses {
			try(used + p.of(s.login).Idle)
		}
	}
	return over, by, ok
}

// refusals looks for points 2 and 5: what is over and has no reason to be.
func (t *trial) refusals(s *session, dead []*Event) {
	for _, r := range dead {
		if s.over(r.End) || t.explained(s, r, t.spread(r)) {
			continue
		}
		if later := t.latestIdleEnd(s, r); later != nil && (r.Op == List || r.Code == idle) {
			if t.fault(5, s, "idle before the idle end that was answered", later, r) {
				t.LostUses++
			}
		} else if t.fault(2, s, "refused, and nothing has ended it", r) {
			t.WrongRefusals++
		}
	}
}

// idleEnd is a lower bound of the idle end that an accept has given, and of the time
// of use that it was computed from. ok is false if it has given none.
func (t *trial) idleEnd(s *session, a *Event) (seen, end time.Duration, ok bool) {
	switch {
	case a.HasTimes:
		return t.earliest(a.Seen), t.earliest(a.IdleEnd), true
	case a.Left:
		longest := time.Duration(0)
		for _, p := range t.spans {
			if p.since < a.End && (p.until == never || p.until+t.Bound >= a.Begin) {
				longest = max(longest, p.of(s.login).Idle)
			}
		}
		// Who answers may have another clock than the one by which the use was noted.
		end := a.Begin + a.IdleLeft - (t.Ahead[1] - t.Ahead[0])
		return end - longest, end, true
	}
	return 0, 0, false
}

// timed are the accepts of a session that began before the answer r came. Of a
// list those that were answered before it was asked for: a list refuses no token,
// and need not wait for uses that are under way.
func (s *session) timed(r *Event) []*Event {
	some := []*Event{s.login}
	for _, e := range s.asks {
		if e.Answer == Yes && (r.Op == Ask && e.Begin < r.End || e.End <= r.Begin) {
			some = append(some, e)
		}
	}
	return some
}

// usedBeside reports whether a use was under way while r was.
func (s *session) usedBeside(r *Event) bool {
	return slices.ContainsFunc(s.asks, func(e *Event) bool {
		return !e.Passive && e.Answer != No && e.Begin < r.End && r.Begin < e.End
	})
}

// latestIdleEnd is the accept that has given the latest use, of those that have given
// an idle end after the answer r came.
func (t *trial) latestIdleEnd(s *session, r *Event) (latest *Event) {
	last := time.Duration(0)
	for _, a := range s.timed(r) {
		if seen, end, ok := t.idleEnd(s, a); ok && end > r.End && (latest == nil || seen > last) {
			latest, last = a, seen
		}
	}
	return latest
}

// spread is for how long r may follow a policy after it was replaced. A refusal
// may not at all. A list refuses no token, and an instance that lists may not have
// read the change.
func (t *trial) spread(r *Event) time.Duration {
	if r.Op == List {
		return t.Bound
	}
	return 0
}

// explained reports whether a policy that may have been in force, or was until
// that long before, can have ended the session before the answer r came. A use counts from where an answer says it to
// have been seen. The idle end of an answer holds as well, unless the policy
// was made shorter after that, or so shortly before that its bound was not over.
func (t *trial) explained(s *session, r *Event, spread time.Duration) bool {
	timed := s.timed(r)
	for _, p := range t.spans {
		if p.since >= r.End {
			continue
		}
		until := r.End
		if p.until != never {
			until = min(until, p.until+spread)
		}
		if t.earliest(s.login.Issued)+p.of(s.login).Absolute <= until {
			return true
		}
		ends := time.Duration(0)
		for _, a := range timed {
			seen, end, ok := t.idleEnd(s, a)
			if !ok {
				continue
			}
			ends = max(ends, seen+p.of(s.login).Idle)
			if p.known != never && a.Begin > p.known+t.Bound {
				ends = max(ends, end)
			}
		}
		if ends <= until {
			return true
		}
	}
	return false
}

// finality looks for point 6, and for the second half of point 2: what was over
// and lives again.
func (t *trial) finality(s *session, alive, dead []*Event) {
	for _, r := range dead {
		if r.Op == List && !s.over(r.End) && (s.usedBeside(r) || !t.explained(s, r, 0) && t.explained(s, r, t.Bound)) {
			continue // it is not said for good
		}
		for _, a := range alive {
			if a.Begin <= r.End {
				continue
			}
			if s.over(r.End) {
				if by := s.limited(r); by != nil && a.Op == Ask && a.Begin > max(by.End+t.Bound, r.End) {
					t.fault(1, s, fmt.Sprintf("accepted %v after a login or a limit that left no room for it, and %v after it was refused for that", a.Begin-by.End, a.Begin-r.End), r, a)
				} else if s.acked == nil && a.Begin > r.End+t.Entry {
					t.fault(4, s, fmt.Sprintf("lives %v after it was over, longer than a cache entry", a.Begin-r.End), r, a)
				}
				continue
			}
			if r.Op == List && a.Op == Ask && a.Begin <= r.End+t.Bound || t.spreading(s, r, a) {
				continue
			}
			point := 6
			if r.Op == Ask && r.Code != expired && r.Code != idle {
				point = 2
			}
			if t.fault(point, s, fmt.Sprintf("lives %v after it was said to be over", a.Begin-r.End), r, a) && point == 2 {
				t.WrongRefusals++
			}
			return
		}
	}
}

// spreading reports whether r may come from a shorter policy of which the one
// who said a need not know yet. Of a change that was not acknowledged all
// know a bound after one has acted by it.
func (t *trial) spreading(s *session, r, a *Event) bool {
	for i, p := range t.spans {
		if p.since >= r.End || p.until < r.Begin || !shortens(t.spans, i, s) {
			continue
		}
		read := p.known
		if read == never {
			read = max(p.event.End, r.End)
		}
		if a.Begin <= read+t.Bound {
			return true
		}
	}
	return false
}

// agreement looks for point 4: of two who are asked in calm, the one who is
// asked after the other has said "over" says so too. An end that no answer has
// acknowledged may take longer.
func (t *trial) agreement(s *session, alive, dead []*Event) {
	for _, w := range s.audits {
		within := func(e *Event) bool { return e.Begin >= w.Begin && e.End <= w.End }
		i := slices.IndexFunc(dead, within)
		if i < 0 {
			continue
		}
		r := dead[i]
		for _, e := range dead[i:] {
			if within(e) && e.End < r.End {
				r = e
			}
		}
		if s.over(r.End) && (s.acked == nil || s.acked.End > w.Begin) {
			continue
		}
		for _, a := range alive {
			if within(a) && a.Begin > r.End {
				if t.fault(4, s, "one says that it is over and another that it lives, though nothing is broken", r, a) {
					t.Disagreements++
				}
				return
			}
		}
	}
}
