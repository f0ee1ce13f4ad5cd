package judge

import (
	"slices"
	"time"
)

const never = time.Duration(1<<63 - 1)

// A span is when one policy was in force. It begins somewhere between since and
// known, and ends somewhere between sure and until.
type span struct {
	Policy
	event        *Event
	since, known time.Duration // known is never for a change that was not acknowledged
	sure, until  time.Duration
}

// spans puts the changes of the policy in order. They are asked for one at a
// time, so that an acknowledged one ends all before it, and those whose outcome
// is not known with them.
func spans(events []Event) []span {
	var all []span
	for i := range events {
		e := &events[i]
		if e.Op != SetPolicy || e.Answer == No {
			continue
		}
		s := span{Policy: e.Policy, event: e, since: e.Begin, known: never, sure: never, until: never}
		if e.Answer == Yes {
			s.known = e.End
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b span) int { return int(a.since - b.since) })
	for i := range all {
		if i+1 < len(all) {
			all[i].sure = all[i+1].since
		}
		for _, later := range all[i+1:] {
			if later.known != never {
				all[i].until = later.known
				break
			}
		}
	}
	return all
}

// shortens reports whether what is in force by the span at i may end a session
// that no policy before it ended.
func shortens(all []span, i int, s *session) bool {
	now := all[i].of(s.login)
	return slices.ContainsFunc(all[:i], func(p span) bool {
		before := p.of(s.login)
		return p.until >= all[i].since && (now.Idle < before.Idle || now.Absolute < before.Absolute)
	})
}
