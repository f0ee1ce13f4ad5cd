package model

// issued is the tick in which session 1, the one that is watched, began.
const issued = 1

// A row is the user's row. session is the one that lives: 1, 2, or 0 for none.
type row struct{ session, floor, stamp, seen uint8 }

// A policy has a base: what was last seen at or before it is over for good.
type policy struct{ version, timeout, base uint8 }

// mark is the watermark of a policy: what is not after it is over.
func (p policy) mark(now uint8) uint8 {
	if now > p.timeout && now-p.timeout > p.base {
		return now - p.timeout
	}
	return p.base
}

// A write is a change of the row whose commit hangs. It waits since at.
type write struct{ kind, by, at, use uint8 }

// The kinds of a write.
const (
	none = iota
	logout
	endUser // by an operator, a password change, a disabled account
	login   // a newer one: session 2
	swept
	used
)

// An instance is what one of them knows.
type instance struct {
	has, asOf, seen    uint8 // a remembered "alive": when it was read, the use it had
	dead, over         uint8 // an end was received; it is over by the policy, for good
	horizon, since     uint8 // the start of the last poll; how far back the next reads
	policy             policy
	proven, pending    uint8 // the watermark that a poll proved; a use not yet written
	stale              uint8 // it reaches a server that is no longer the primary
	reading, read      uint8 // a read that has not arrived: 1, and when it was sent
	readSeen           uint8
	readVer, readLimit uint8
	readBase           uint8
	doubt              uint8 // no "alive" as of then or before is believed
}

// A remote is a Remote behind instance 0.
type remote struct{ has, asOf, until, horizon, dead, version uint8 }

type state struct {
	now      uint8
	row      row
	policy   policy
	write    write
	setting  uint8 // a policy change whose commit hangs: 1
	setBase  uint8
	old      row // the server that is no longer the primary stands still
	oldRules policy
	in       [2]instance
	remote   remote

	acked, over, said uint8 // 1 + ticks since; 0: not yet
	idleEnd, used     uint8 // the idle end that was answered; the last acknowledged use
	unacked           uint8 // an end landed late, and was not acknowledged
	calm              uint8 // ticks in which nothing was broken

	acts, sets, late, uses, faults, slow uint8 // how many are left
}

// A search looks at one world under some rules.
type search struct {
	world World
	rules Rules
}

func (m *search) start() state {
	p := policy{version: 1, timeout: m.world.Long}
	s := state{
		now: 1, row: row{session: 1, seen: 1}, policy: p,
		acts: m.world.Acts, sets: m.world.Sets, late: m.world.Late, uses: m.world.Uses, faults: m.world.Faults, slow: m.world.Slow,
	}
	for i := range s.in {
		s.in[i] = instance{has: 1, asOf: 1, seen: 1, horizon: 1, policy: p}
	}
	if m.world.Remote {
		s.remote = remote{has: 1, asOf: 1, until: m.until(&s.in[0]), horizon: 1, version: 1}
	}
	return s
}

// until is when a Remote asks again about what instance in told it.
func (m *search) until(in *instance) uint8 {
	if m.world.Kind == byLimit {
		return m.world.End + 1
	}
	return m.fact(in.seen) + in.policy.timeout
}

// fact is what the policy judges by.
func (m *search) fact(seen uint8) uint8 {
	if m.world.Kind == byAge {
		return issued
	}
	return seen
}

func lives(r row) bool { return r.session == 1 && r.floor < 1 }

// tooMany reports whether a policy allows fewer sessions than live. All worlds with such a
// policy begin with a second session, which is newer.
func (m *search) tooMany(p policy) bool { return m.world.Kind == byLimit && p.timeout < 2 }

func (m *search) overByPolicy(s *state) bool {
	if m.world.Kind == byLimit {
		return lives(s.row) && m.tooMany(s.policy)
	}
	return m.world.Kind != byNothing && lives(s.row) && m.fact(s.row.seen) <= s.policy.mark(s.now)
}

// alive is the truth: what the row says by the policy in force.
func (m *search) alive(s *state) bool { return lives(s.row) && !m.overByPolicy(s) }

// normal gives states that nothing can distinguish one form.
func (m *search) normal(s *state) {
	landed := *s
	if s.write.kind == used { // it may yet live on
		landed.row.seen = max(s.row.seen, s.write.use)
	}
	if m.overByPolicy(&landed) {
		s.over = max(s.over, 1)
	} else {
		s.over = 0
	}
	if s.idleEnd <= s.now {
		s.idleEnd = 0
	}
	if s.used != 0 && s.now > s.used+bound {
		s.used = 0
	}
	for i := range s.in {
		in := &s.in[i]
		if in.dead != 0 {
			*in = instance{dead: 1, stale: in.stale, policy: in.policy, horizon: in.horizon}
			if !m.world.Remote || i != 0 {
				in.policy, in.horizon = policy{}, 0
			}
			continue
		}
		if in.horizon != 0 && s.now-in.horizon > bound {
			in.horizon = 0
		}
		if in.reading == 0 && s.now > in.doubt {
			in.doubt = 0
		}
		if in.has != 0 && s.now-in.asOf > life {
			in.has, in.asOf, in.seen = 0, 0, 0
		}
		if in.reading != 0 && s.now-in.read > life { // given up
			in.reading, in.read, in.readSeen, in.readVer, in.readLimit, in.readBase = 0, 0, 0, 0, 0, 0
		}
		if (s.row.stamp == 0 || s.row.stamp >= in.since) && (s.write.kind == none || s.write.at >= in.since) &&
			(s.old.stamp == 0 || s.old.stamp >= in.since) {
			in.since = 0
		}
	}
	r := &s.remote
	switch {
	case r.dead != 0:
		*r = remote{dead: 1}
	case r.has != 0 && s.now-r.asOf > life, r.has == 0:
		*r = remote{horizon: r.horizon, version: r.version}
	}
	if r.horizon != 0 && s.now-r.horizon > bound {
		r.horizon = 0
	}
}
