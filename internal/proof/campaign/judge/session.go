package judge

import (
	"slices"
	"time"
)

// A session is what the history says of one login that was acknowledged.
type session struct {
	id     uint64
	login  *Event
	asks   []*Event // about its token, in the order in which they began
	ends   []*Event // that may have ended it, whatever came of them
	acked  *Event   // the first answer to say that it is over
	lists  []*Event // that were asked for after the login and answered
	audits []*Event
	uses   bool          // a use got no answer: it is unknown until when it may have been used
	gone   time.Duration // from when on it is surely over, as somebody was answered; see makeRoom
}

// over reports whether an explicit end may have happened before that instant.
func (s *session) over(by time.Duration) bool {
	return slices.ContainsFunc(s.ends, func(e *Event) bool { return e.Begin < by })
}

// acks reports whether the event says that a session is over. Of a login see
// [trial.replaces].
func acks(e *Event, s *session) bool {
	if e.Answer != Yes {
		return false
	}
	before := s.login.End <= e.Begin
	switch e.Op {
	case EndOne:
		return e.Session == s.id
	case EndUser:
		return e.User == s.login.User && e.Session != s.id && before
	case EndAll:
		return before
	}
	return false
}

// mayEnd reports whether the event can be why a session is over. What was
// acknowledged was done between its begin and its end; anything else may still be
// done. Of logins and limits see [trial.crowdedOut].
func mayEnd(e *Event, s *session) bool {
	if e.Answer == No {
		return false
	}
	early := e.Answer != Yes || s.login.Begin < e.End
	switch e.Op {
	case EndOne:
		return e.Session == s.id
	case EndUser, MayEnd:
		return e.User == s.login.User && (e.Session == 0 || e.Session != s.id) && early
	case EndAll:
		return early
	}
	return false
}

// sessions sorts the history by session. The events are in the order of Begin.
func (t *trial) sessions() []*session {
	byID, users := map[uint64]*session{}, map[string]*user{}
	var all []*session
	for i := range t.events {
		e := &t.events[i]
		if e.Op != Login || e.Answer == No {
			continue
		}
		u := users[e.User]
		if u == nil {
			u = &user{}
			users[e.User] = u
			t.users = append(t.users, u)
		}
		var s *session
		if e.Answer == Yes {
			s = &session{id: e.Session, login: e, gone: never}
			all, byID[s.id] = append(all, s), s
			u.sessions = append(u.sessions, s)
		}
		u.logins = append(u.logins, begun{e, s})
	}
	for i := range t.events {
		e := &t.events[i]
		var concerned []*session
		switch e.Op {
		case Ask, EndOne:
			if s := byID[e.Session]; s != nil {
				concerned = []*session{s}
			}
		case EndAll, Audit:
			concerned = all
		case EndUser, MayEnd, List:
			if u := users[e.User]; u != nil {
				concerned = u.sessions
			} else if e.Op == List && e.User == "" {
				concerned = all
			}
		}
		for _, s := range concerned {
			s.add(e)
		}
	}
	for _, u := range t.users {
		t.makeRoom(u)
	}
	return all
}

func (s *session) add(e *Event) {
	switch e.Op {
	case Ask:
		s.asks = append(s.asks, e)
		s.uses = s.uses || e.Answer == None && !e.Passive
	case List:
		if e.Answer == Yes && s.login.End < e.Begin {
			s.lists = append(s.lists, e)
		}
	case Audit:
		s.audits = append(s.audits, e)
	default:
		if mayEnd(e, s) {
			s.ends = append(s.ends, e)
		}
		if acks(e, s) {
			s.endedBy(e)
		}
	}
}

// endedBy notes an answer that says that the session is over.
func (s *session) endedBy(e *Event) {
	if s.acked == nil || e.End < s.acked.End {
		s.acked = e
	}
}

// verdicts is what was said of the session: that it lives, and that it is over.
// A list that shows it, or does not, says so too.
func (s *session) verdicts() (alive, dead []*Event) {
	for _, e := range s.asks {
		switch e.Answer {
		case Yes:
			alive = append(alive, e)
		case No:
			dead = append(dead, e)
		}
	}
	for _, e := range s.lists {
		switch {
		case !e.Listed[s.id]:
			dead = append(dead, e)
		case !e.Rows:
			alive = append(alive, e)
		}
	}
	byBegin := func(a, b *Event) int { return int(a.Begin - b.Begin) }
	slices.SortStableFunc(alive, byBegin)
	slices.SortStableFunc(dead, byBegin)
	return alive, dead
}

// lost reports whether in calm somebody says that the session lives though its end
// was acknowledged before, or that it is over though nothing may have ended it but
// the loss of its begin.
func (s *session) lost(alive, dead []*Event) bool {
	for _, w := range s.audits {
		within := func(e *Event) bool { return e.Begin >= w.Begin && e.End <= w.End }
		if s.acked != nil && s.acked.End < w.Begin && slices.ContainsFunc(alive, within) {
			return true
		}
		if !s.over(w.End) && slices.ContainsFunc(dead, func(e *Event) bool { return within(e) && e.Op == Ask && e.Code != idle && e.Code != expired }) {
			return true
		}
	}
	return false
}
