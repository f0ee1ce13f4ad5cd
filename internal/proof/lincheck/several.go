package lincheck

import (
	"math/bits"
	"slices"

	"github.com/anishathalye/porcupine"
)

// mostLive is how many logins of a user may live at once in a history.
const mostLive = 8

// several is what is true of one user where a policy may allow several logins.
//
// Which login ends when there are too many depends on when each was last used, which no
// answer says. So there it may be any; an answer about them narrows it down. After a lower
// limit that is decided by the first answer about one of them, or never if the limit is
// higher again before.
type several struct {
	live     [mostLive]held // oldest first
	n        int            // how many
	limit    int
	named    int // the limit on devices with a name, which are of one class
	highest  int64
	disabled bool
	// unanswered is how many logins were asked for without an answer so far: see state.
	unanswered int
}

// A held login was begun on that device; a device without a name is "".
type held struct {
	token int64
	on    string
}

func (s *several) lives(token int64) bool {
	return slices.ContainsFunc(s.live[:s.n], func(h held) bool { return h.token == token })
}

// keep is s with those of its logins that keep chooses.
func (s several) keep(keep func(i int, h held) bool) several {
	was, n := s.live, s.n
	s.live, s.n = [mostLive]held{}, 0
	for i, h := range was[:n] {
		if keep(i, h) {
			s.live[s.n] = h
			s.n++
		}
	}
	return s
}

func (s several) without(token int64) several {
	return s.keep(func(_ int, h held) bool { return h.token != token })
}

// most is how many logins stay at most where so many may on all devices, and so many on
// those with a name.
func (s several) most(onAll, onNamed int) int {
	named := bits.OnesCount(s.onNamed())
	return max(0, min(onAll, s.n-named+max(0, min(named, onNamed))))
}

// onNamed has a bit for each login on a device with a name.
func (s several) onNamed() (which uint) {
	for i, h := range s.live[:s.n] {
		if h.on != "" {
			which |= 1 << i
		}
	}
	return which
}

// reduced is s after it was decided which so many logins stay, and at most so many of them
// on devices with a name, in each way.
func (s several) reduced(stay, onNamed int) (all []several) {
	named := s.onNamed()
	for which := range uint(1) << s.n {
		if bits.OnesCount(which) == stay && bits.OnesCount(which&named) <= onNamed {
			all = append(all, s.keep(func(i int, _ held) bool { return which>>i&1 == 1 }))
		}
	}
	return all
}

// step is every s after o, or none if o may not happen in s as it was answered.
func (s several) step(o *Op) []several {
	switch o.Kind {
	case Login:
		return s.login(o)
	case Verify:
		return s.verify(o)
	case Logout:
		s = s.without(o.Token)
	case EndOthers:
		if !s.lives(o.Token) {
			if o.unknown() {
				return []several{s}
			}
			return nil // its right to it is checked where it is done
		}
		s = s.keep(func(_ int, h held) bool { return h.token == o.Token })
	case End:
		s = s.keep(func(int, held) bool { return false })
	case Disable:
		s = s.keep(func(int, held) bool { return false })
		s.disabled = true
	case Enable:
		s.disabled = false
	case Limit:
		s.limit, s.named = o.Sessions, o.Sessions
		if o.Named != 0 {
			s.named = min(o.Named, o.Sessions)
		}
	default:
		return nil
	}
	if o.Outcome == Refused {
		return nil
	}
	return []several{s}
}

func (s several) login(o *Op) (all []several) {
	switch {
	case o.unknown():
		s.unanswered++
		return []several{s}
	case o.Outcome == Refused:
		if o.Code == codeDisabled && s.disabled {
			return []several{s}
		}
		return nil
	case o.Token <= s.highest || s.disabled:
		return nil
	}
	s = s.keep(func(_ int, h held) bool { return h.on == "" || h.on != o.Device })
	onAll, onNamed := s.limit-1, s.named
	if o.Device != "" {
		onNamed--
	}
	// A login without an answer may have a place, too.
	for stay := s.most(onAll-s.unanswered, onNamed-s.unanswered); stay <= s.most(onAll, onNamed); stay++ {
		for _, next := range s.reduced(stay, onNamed) {
			next.live[next.n] = held{o.Token, o.Device}
			next.n++
			next.highest = o.Token
			all = append(all, next)
		}
	}
	return all
}

func (s several) verify(o *Op) (all []several) {
	ways := []several{s}
	if most := s.most(s.limit, s.named); s.n > most {
		ways = s.reduced(most, s.named)
	}
	for _, way := range ways {
		switch lives := way.lives(o.Token); {
		case o.Outcome == Done && lives, o.Outcome == Refused && !lives && o.Token <= s.highest:
			all = append(all, way)
		case o.Outcome == Refused && lives && way.unanswered > 0:
			way.unanswered--
			all = append(all, way.without(o.Token))
		}
	}
	return all
}

var severalModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{several{limit: 1, named: 1}} },
	Step: func(now, input, _ any) []any {
		s, _ := now.(several)
		o, _ := input.(*Op)
		next := s.step(o)
		all := make([]any, len(next))
		for i := range next {
			all[i] = next[i]
		}
		return all
	},
}).ToModel()

// severalIn reports whether a history is of a user who may have several logins.
func severalIn(all []Op) bool {
	return slices.ContainsFunc(all, func(o Op) bool { return o.Kind == Limit })
}
