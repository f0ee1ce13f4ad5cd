package model

// A verdict is an answer about session 1.
type verdict uint8

const (
	yes          verdict = iota
	ended                // 401: an end is known
	overByPolicy         // 401: too old, or idle
	reduced              // 401: too many, and ended by the read that found it
	ask                  // what is remembered cannot say
	undecided            // 503
)

func (v verdict) refused() bool { return v == ended || v == overByPolicy || v == reduced }

func fresh(now, horizon uint8) bool { return horizon != 0 && now-horizon <= bound }

// local is what instance i says without asking.
func (m *search) local(s *state, i int) verdict {
	in := &s.in[i]
	switch {
	case in.dead != 0:
		return ended
	case in.over != 0:
		return overByPolicy
	}
	mark := in.policy.mark(s.now)
	if m.world.Kind == byAge && issued <= mark {
		if !m.rules.ProvenAge || issued <= in.proven {
			return overByPolicy
		}
		return ask
	}
	if in.has == 0 || s.now-in.asOf > bound && !fresh(s.now, in.horizon) {
		return ask
	}
	if m.world.Kind == byIdle && in.seen <= mark {
		return ask
	}
	return yes
}

// server is the row and the policy that instance i reads now.
func (m *search) server(s *state, i int) (row, policy) {
	if s.in[i].stale != 0 {
		return s.old, s.oldRules
	}
	return s.row, s.policy
}

// truth is what instance i says after it has read the row.
func (m *search) truth(s *state, i int) verdict {
	in := &s.in[i]
	if in.stale != 0 && m.rules.Prove {
		return undecided
	}
	r, p := m.server(s, i)
	if !m.rules.OneRead && fresh(s.now, in.horizon) {
		p = in.policy // as it was received
	}
	switch x := m.fact(r.seen); {
	case !lives(r):
		return ended
	case m.tooMany(p) && !m.rules.Reduce:
		return overByPolicy
	case m.tooMany(p) && s.write.kind != none:
		return undecided // waited for the writer in vain
	case m.tooMany(p):
		return reduced
	case m.world.Kind == byLimit:
		return yes
	case m.world.Kind == byNothing || x > p.mark(s.now):
		return yes
	case m.rules.LockedNo && s.write.kind != none && in.stale == 0:
		return undecided // waited for the writer in vain
	case x <= p.base:
		return overByPolicy
	case m.rules.Fence && s.setting != 0 && in.stale == 0:
		return undecided
	}
	return overByPolicy
}

// verdict is what a request to instance i is answered.
func (m *search) verdict(s *state, i int) verdict {
	if v := m.local(s, i); v != ask {
		return v
	}
	return m.truth(s, i)
}

// remoteVerdict is what a request to the service with the Remote is answered.
func (m *search) remoteVerdict(s *state) verdict {
	r := &s.remote
	switch {
	case r.dead != 0:
		return ended
	case r.has == 0, r.until <= s.now, s.now-r.asOf > bound && !fresh(s.now, r.horizon):
		return m.verdict(s, 0)
	}
	return yes
}

// A Promise is one of those of docs/guarantees.md.
type Promise uint16

// The promises.
const (
	// End: no accept later than B after an acknowledged end.
	End Promise = 1 << iota
	// PolicyEnd: nor later than B after an end by the policy.
	PolicyEnd
	// NoFalseEnd: no 401 while the row lives.
	NoFalseEnd
	// NoReturn: no 401 for the policy's sake that is a 200 later.
	NoReturn
	// Truth: an end that was acknowledged is one.
	Truth
	// OneStory: after 2 B of calm all say what the row says. After an end that was
	// not acknowledged it takes the life of a cache entry.
	OneStory
	// UseCounts: no idle refusal before the end that was answered, nor within B of an
	// acknowledged use.
	UseCounts
)

var promiseNames = []string{"End", "PolicyEnd", "NoFalseEnd", "NoReturn", "Truth", "OneStory", "UseCounts"}

// String lists the promises.
func (p Promise) String() (text string) {
	for i, name := range promiseNames {
		if p&(1<<i) != 0 {
			if text != "" {
				text += " "
			}
			text += name
		}
	}
	return text
}

// broken is which promises a request in state s breaks, wherever it is made.
func (m *search) broken(s *state) (bad Promise) {
	alive := m.alive(s)
	if alive && s.said != 0 {
		bad |= NoReturn
	}
	verdicts := []verdict{m.verdict(s, 0), m.verdict(s, 1)}
	if m.world.Remote {
		verdicts = append(verdicts, m.remoteVerdict(s))
	}
	calm := uint8(settle)
	if s.unacked != 0 {
		calm = life + 1
	}
	for _, v := range verdicts {
		switch {
		case v == yes:
			if s.acked > bound+1 {
				bad |= End
			}
			if s.over > bound+1 {
				bad |= PolicyEnd
			}
			if s.said > bound+1 {
				bad |= NoReturn
			}
		case v.refused():
			if alive {
				bad |= NoFalseEnd
			}
			if s.idleEnd > s.now || s.used != 0 && s.now <= s.used+bound {
				bad |= UseCounts
			}
		}
		if s.calm >= calm && (v == undecided || (v == yes) != alive) {
			bad |= OneStory
		}
	}
	return bad
}
