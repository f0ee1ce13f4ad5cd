package model

// emit receives each state that may follow, and of what led to it. by is the
// instance, or -1.
type emit func(what string, by int, next state, bad Promise)

// next emits all that may happen in s.
func (m *search) next(s *state, emit emit) {
	if s.in[0].dead != 0 && s.in[1].dead != 0 && (!m.world.Remote || s.remote.dead != 0) {
		return // it can be believed no more
	}
	m.time(s, emit)
	for i := range s.in {
		m.polls(s, i, emit)
		m.reads(s, i, emit)
		if m.world.Kind == byIdle {
			m.used(s, i, emit)
		}
		m.ends(s, i, emit)
		m.breaks(s, i, emit)
	}
	m.lands(s, emit)
	m.sweeps(s, emit)
	m.sets(s, emit)
	if m.world.Remote {
		m.remoteSteps(s, emit)
	}
}

func later(n, most uint8) uint8 {
	if n == 0 || n >= most {
		return n
	}
	return n + 1
}

func tick(s *state) {
	s.now++
	s.acked, s.over, s.said = later(s.acked, bound+2), later(s.over, life+2), later(s.said, bound+2)
}

func (m *search) time(s *state, emit emit) {
	if s.now >= m.world.End {
		return
	}
	n := *s
	tick(&n)
	n.calm = 0
	emit("a tick passes", -1, n, 0)
	if s.write.kind != none || s.setting != 0 || s.in[0].stale != 0 || s.in[1].stale != 0 {
		return
	}
	n = *s
	for i := range n.in {
		m.flush(&n, i)
		m.poll(&n, i)
	}
	m.beat(&n)
	tick(&n)
	n.calm = min(n.calm+1, life+1)
	emit("all write their uses and poll, the Remote receives it, a tick passes", -1, n, 0)
}

// learn takes over a newer policy.
func (m *search) learn(s *state, i int, p policy) {
	in := &s.in[i]
	if p.version <= in.policy.version {
		return
	}
	if m.rules.Doubt && m.tooMany(p) {
		in.doubt, in.has, in.asOf, in.seen = s.now, 0, 0, 0
	}
	in.policy = p
}

func (m *search) poll(s *state, i int) bool {
	in := &s.in[i]
	if in.stale != 0 && m.rules.Prove {
		return false
	}
	r, p := m.server(s, i)
	if r.floor >= 1 && r.stamp != 0 && r.stamp >= in.since {
		in.dead = 1
	}
	m.learn(s, i, p)
	if !m.rules.Fence || s.setting == 0 {
		in.proven = max(in.proven, p.mark(s.now))
	}
	in.horizon, in.since = s.now, s.now-overlap
	return true
}

func (m *search) polls(s *state, i int, emit emit) {
	if n := *s; m.poll(&n, i) {
		emit("polls", i, n, 0)
	}
}

// remember keeps an "alive" that was read at read.
func (m *search) remember(s *state, i int, read, seen uint8, p policy) {
	in := &s.in[i]
	if m.rules.OneRead || !fresh(s.now, in.horizon) {
		m.learn(s, i, p)
	}
	if !m.rules.AsOf {
		read = s.now
	}
	if in.doubt != 0 && read <= in.doubt {
		return
	}
	if in.has == 0 || in.asOf < read {
		in.has, in.asOf, in.seen = 1, read, seen
	}
}

func (m *search) reads(s *state, i int, emit emit) {
	in := &s.in[i]
	if in.reading != 0 {
		n := *s
		q := &n.in[i]
		m.remember(&n, i, q.read, q.readSeen, policy{q.readVer, q.readLimit, q.readBase})
		q.reading, q.read, q.readSeen, q.readVer, q.readLimit, q.readBase = 0, 0, 0, 0, 0, 0
		emit("its read arrives: alive", i, n, 0)
	}
	switch m.local(s, i) {
	case overByPolicy:
		if s.said == 0 {
			n := *s
			n.said = 1
			emit("says without a read that it is over by the policy, 401", i, n, 0)
		}
		return
	case ask:
	default:
		return
	}
	n := *s
	r, p := m.server(s, i)
	switch m.truth(s, i) {
	case yes:
		if s.slow > 0 && in.reading == 0 {
			q := n
			q.slow--
			a := &q.in[i]
			a.reading, a.read, a.readSeen, a.readVer, a.readLimit, a.readBase = 1, s.now, r.seen, p.version, p.timeout, p.base
			emit("reads the row, and the answer is under way", i, q, 0)
		}
		m.remember(&n, i, s.now, r.seen, p)
		emit("reads the row: alive, 200", i, n, 0)
	case ended:
		n.in[i].dead = 1
		emit("reads the row: ended, 401", i, n, 0)
	case reduced:
		m.commit(&n, endUser, s.now)
		n.in[i].dead, n.said = 1, max(n.said, 1)
		emit("reads the row: too many, and ends it, 401", i, n, 0)
		if s.late > 0 {
			n := *s
			n.late--
			n.calm = 0
			n.write = write{kind: endUser, by: uint8(i), at: s.now}
			emit("reads the row: too many, and the commit hangs: 503", i, n, 0)
		}
	case overByPolicy:
		n.said = max(n.said, 1)
		n.in[i].has, n.in[i].asOf, n.in[i].seen = 0, 0, 0
		if m.rules.LockedNo {
			n.in[i].over = 1
		}
		emit("reads the row: over by the policy, 401", i, n, 0)
	}
}

// beat is a beat of the stream from instance 0 to the Remote.
func (m *search) beat(s *state) {
	if !m.world.Remote {
		return
	}
	r, in := &s.remote, &s.in[0]
	r.dead = max(r.dead, in.dead)
	if r.version != in.policy.version {
		r.version = in.policy.version
		if m.rules.RemoteDrops {
			r.has = 0
		}
	}
	r.horizon = in.horizon
}

func (m *search) remoteSteps(s *state, emit emit) {
	n := *s
	m.beat(&n)
	emit("the Remote receives what instance 0 knows", 0, n, 0)
	if r := &s.remote; r.has != 0 && r.until > s.now && (s.now-r.asOf <= bound || fresh(s.now, r.horizon)) {
		return
	}
	if m.local(s, 0) == yes {
		n, in := *s, &s.in[0]
		asOf := in.asOf
		if fresh(s.now, in.horizon) {
			asOf = max(asOf, in.horizon) // no end before it is unknown there
		}
		if !m.rules.RemoteAge {
			asOf = s.now
		}
		n.remote.has, n.remote.asOf, n.remote.until, n.remote.version = 1, asOf, m.until(in), in.policy.version
		emit("the Remote asks instance 0: alive", 0, n, 0)
	}
}

func (m *search) breaks(s *state, i int, emit emit) {
	in := &s.in[i]
	if in.stale != 0 {
		n := *s
		n.in[i].stale, n.calm = 0, 0
		if n.in[1-i].stale == 0 {
			n.old, n.oldRules = row{}, policy{}
		}
		emit("reaches the primary again", i, n, 0)
		return
	}
	if s.faults == 0 {
		return
	}
	n := *s
	n.faults--
	n.calm = 0
	q := n
	q.in[i] = instance{policy: s.policy}
	emit("crashes and starts anew", i, q, 0)
	if m.world.Stale && s.in[1-i].stale == 0 {
		n.in[i].stale, n.old, n.oldRules = 1, s.row, s.policy
		emit("reaches from now on a server that is no longer the primary", i, n, 0)
	}
}
