package model

// needed is how much of its idle time must be left for a use to be answered
// before it is written: B, the time until it is written behind, and a margin.
const needed = bound + 1

// commit makes a write visible, with the stamp at.
func (m *search) commit(s *state, kind, at uint8) {
	r := &s.row
	switch kind {
	case logout, endUser, login:
		lived := r.session != 0
		if kind == logout {
			lived = r.session == 1
		}
		switch {
		case lived:
			r.floor, r.session, r.stamp = max(r.floor, r.session), 0, at
		case m.rules.StampAlways:
			r.stamp = max(r.stamp, at)
		}
		if kind == login {
			r.session = 2
		}
	case swept:
		r.floor, r.session = max(r.floor, 1), 0
	}
	s.idleEnd, s.used = 0, 0
}

// acknowledge is what instance i does before it answers that session 1 is over.
func (m *search) acknowledge(s *state, i int) {
	s.in[i].dead, s.unacked = 1, 0
	s.acked = max(s.acked, 1)
}

var endNames = [...]string{logout: "logout", endUser: "the user's session is ended by another", login: "newer login", swept: "sweep", used: "use"}

func (m *search) ends(s *state, i int, emit emit) {
	if s.acts == 0 || s.in[i].stale != 0 {
		return
	}
	base := *s
	base.acts--
	base.calm = 0
	known := m.world.Kind == byAge && m.local(s, i) == overByPolicy
	if known && !m.rules.AskLogout {
		n := base
		n.acked = max(n.acked, 1)
		var bad Promise
		if m.alive(s) {
			bad = Truth
		}
		emit("logout is answered 204 by what it knows", i, n, bad)
	}
	if s.write.kind != none {
		return // the row is locked: 503
	}
	for kind := uint8(logout); kind <= login; kind++ {
		if kind == login && s.row.session == 2 || kind == logout && known && !m.rules.AskLogout {
			continue
		}
		n := base
		m.commit(&n, kind, s.now)
		m.acknowledge(&n, i)
		emit(endNames[kind]+", acknowledged", i, n, 0)
		if s.late > 0 {
			n := base
			n.late--
			n.write = write{kind: kind, by: uint8(i), at: s.now}
			emit(endNames[kind]+", and the commit hangs", i, n, 0)
		}
	}
}

// lands is what may become of what hangs.
func (m *search) lands(s *state, emit emit) {
	if w := s.write; w.kind != none {
		n := *s
		n.write = write{}
		emit(endNames[w.kind]+" is rolled back", -1, n, 0)
		i := int(w.by)
		if w.kind == used {
			n.row.seen = max(n.row.seen, w.use)
			if in := &n.in[i]; in.pending == w.use {
				in.pending = 0
			}
			emit("use is committed late", i, n, 0)
		} else {
			q := n
			m.commit(&q, w.kind, w.at)
			if w.kind != swept {
				q.unacked = 1
			}
			emit(endNames[w.kind]+" is committed late, and is not read by any poll", i, q, 0)
			if w.kind != swept {
				at := w.at
				if m.rules.PromptOrAgain && s.now-w.at > overlap {
					at = s.now
				}
				m.commit(&n, w.kind, at)
				m.acknowledge(&n, i)
				emit(endNames[w.kind]+" is committed late, and acknowledged", i, n, 0)
			}
		}
	}
	if s.setting != 0 {
		n := *s
		n.setting, n.setBase = 0, 0
		emit("the policy change is rolled back", -1, n, 0)
		m.setPolicy(&n, s.setBase)
		emit("the policy change is committed late", -1, n, 0)
	}
}

func (m *search) sweeps(s *state, emit emit) {
	if !m.world.Sweep || s.write.kind != none || !m.overByPolicy(s) || m.rules.SweepFence && s.setting != 0 {
		return
	}
	kind, at := uint8(swept), uint8(0)
	if m.world.Kind == byLimit {
		kind, at = endUser, s.now // the feed needs it: nobody else knows which session it is
	}
	n := *s
	m.commit(&n, kind, at)
	emit("the sweep clears the row", -1, n, 0)
	if s.late > 0 {
		n := *s
		n.late--
		n.calm = 0
		n.write = write{kind: kind, at: s.now}
		emit("the sweep clears the row, and the commit hangs", -1, n, 0)
	}
}

func (m *search) sets(s *state, emit emit) {
	if s.sets == 0 || s.setting != 0 {
		return
	}
	n := *s
	n.sets--
	n.calm = 0
	base := s.policy.mark(s.now)
	if m.world.Kind == byLimit {
		base = 0 // a higher limit finds alive what nobody has ended
	}
	q := n
	m.setPolicy(&q, base)
	emit("the timeout is changed", -1, q, 0)
	if s.late > 0 {
		n.late--
		n.setting, n.setBase = 1, base
		emit("the timeout is changed, and the commit hangs", -1, n, 0)
	}
}

func (m *search) setPolicy(s *state, base uint8) {
	p := &s.policy
	p.timeout = m.world.Long + m.world.Short - p.timeout
	p.base = max(p.base, base)
	p.version++
	s.idleEnd, s.used = 0, 0
}

// flush writes a pending use, if that can be tried.
func (m *search) flush(s *state, i int) bool {
	in := &s.in[i]
	if in.pending == 0 || s.write.kind != none || in.stale != 0 {
		return false
	}
	use := in.pending
	if !m.rules.RowLeads {
		in.pending = 0
		if lives(s.row) && s.row.seen > in.policy.mark(s.now) && use >= s.row.seen+touch {
			s.row.seen = use
		}
		return true
	}
	judged := s.policy.mark(s.now)
	if m.rules.Fence && s.setting != 0 && s.row.seen > s.policy.base && s.row.seen <= judged {
		return false
	}
	in.pending = 0
	if !lives(s.row) || s.row.seen <= judged {
		in.has, in.asOf, in.seen = 0, 0, 0 // what the row refuses is forgotten
		return true
	}
	s.row.seen = max(s.row.seen, use)
	if in.has != 0 {
		in.seen = max(in.seen, s.row.seen)
	}
	return true
}

// noteIdleEnd notes the idle end that the answer to a use has given.
func noteIdleEnd(s *state, i int, end uint8) {
	if s.in[i].policy.version == s.policy.version && lives(s.row) {
		s.idleEnd, s.used = max(s.idleEnd, end), s.now
	}
}

func (m *search) used(s *state, i int, emit emit) {
	in := &s.in[i]
	if n := *s; m.flush(&n, i) {
		emit("writes its pending use", i, n, 0)
	}
	free := s.write.kind == none && in.stale == 0
	if in.pending != 0 && free && s.late > 0 && lives(s.row) && s.row.seen > s.policy.mark(s.now) {
		n := *s
		n.late--
		n.calm = 0
		n.write = write{used, uint8(i), s.now, in.pending}
		emit("writes its pending use, and the commit hangs", i, n, 0)
	}
	if s.uses == 0 || m.local(s, i) != yes {
		return
	}
	n := *s
	n.uses--
	q := &n.in[i]
	if !m.rules.WriteNear || in.seen+in.policy.timeout-s.now >= needed {
		end := in.seen + in.policy.timeout
		if s.now-in.seen >= touch {
			q.pending = s.now
			if !m.rules.RowLeads {
				q.seen = s.now
			}
			if !m.rules.RowTells {
				end = s.now + in.policy.timeout
			}
		}
		noteIdleEnd(&n, i, end)
		emit("is used, 200", i, n, 0)
		return
	}
	if !free {
		return // 503
	}
	switch m.written(s, i) {
	case yes:
		if s.late > 0 {
			h := n
			h.late--
			h.calm = 0
			h.write = write{used, uint8(i), s.now, s.now}
			emit("is used near the idle end, and the commit hangs: 503", i, h, 0)
		}
		n.row.seen = s.now
		m.learn(&n, i, n.policy)
		q.seen, q.asOf, q.pending = s.now, s.now, 0
		noteIdleEnd(&n, i, s.now+n.policy.timeout)
		emit("is used near the idle end: written, 200", i, n, 0)
	case ended:
		q.dead = 1
		emit("is used near the idle end: ended, 401", i, n, 0)
	case overByPolicy:
		n.said = max(n.said, 1)
		q.over, q.has, q.asOf, q.seen = 1, 0, 0, 0
		emit("is used near the idle end: over by the policy, 401", i, n, 0)
	}
}

// written is what the row says to a use that is written at once: it judges by
// the policy in force, whatever the instance knows.
func (m *search) written(s *state, i int) verdict {
	if v := m.truth(s, i); v != yes || !m.overByPolicy(s) {
		return v
	}
	if m.rules.Fence && s.setting != 0 && s.row.seen > s.policy.base {
		return undecided
	}
	return overByPolicy
}
