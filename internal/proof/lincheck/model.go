package lincheck

import "github.com/anishathalye/porcupine"

// A state is what is true of one user.
type state struct {
	live     int64 // the login that lives, or none
	highest  int64 // of the IDs in any answer
	last     int64 // the login that ended last, or none
	why      string
	disabled bool
	// unanswered is how many logins were asked for without an answer so far. Each may
	// begin at some time, with an ID that is in no answer, and end the one that
	// lives. When, matters only once the one that lived is refused: till then a
	// state in which one may still begin allows all that a state does in which it began.
	unanswered int
}

const none int64 = 0

// end is s after the login that lives has ended.
func (s state) end(why string) state {
	if s.live != none {
		s.last, s.why, s.live = s.live, why, none
	}
	return s
}

// step is s after o, and whether o may happen in s as it was answered. An unknown
// op is tried as if it had happened: one that never did has its place after
// everything else, where no answer depends on it.
func (s state) step(o *Op) (bool, state) {
	switch o.Kind {
	case Login:
		switch {
		case o.unknown():
			s.unanswered++
			return true, s
		case o.Outcome == Refused:
			return o.Code == codeDisabled && s.disabled, s
		}
		ok := o.Token > s.highest && !s.disabled
		s = s.end(codeReplaced)
		s.live, s.highest = o.Token, o.Token
		return ok, s
	case Verify:
		if o.Outcome == Done {
			return o.Token == s.live, s
		}
		return s.refuse(o.Token, o.Code)
	case Logout:
		if o.Token == s.live {
			s = s.end(codeLogout)
		}
	case End:
		s = s.end(o.Code)
	case Disable:
		s = s.end(codeDisabled)
		s.disabled = true
	case Enable:
		s.disabled = false
	default:
		return false, s
	}
	return o.Outcome != Refused, s
}

// refuse reports whether a token may be refused with that code. The reason is
// known of the login that ended last. Of one before it, an instance may remember
// its own reason, may know only that a later one has ended, or nothing at all.
func (s state) refuse(token int64, code string) (bool, state) {
	switch {
	case token > s.highest:
		return false, s
	case token == s.live:
		if s.unanswered == 0 {
			return false, s
		}
		s.unanswered--
		return true, s.end("")
	case token == s.last:
		return code == s.why || s.why == "" || s.unanswered > 0, s
	default:
		return true, s
	}
}

var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(now, input, _ any) (bool, any) {
		s, _ := now.(state)
		o, _ := input.(*Op)
		return s.step(o)
	},
}
