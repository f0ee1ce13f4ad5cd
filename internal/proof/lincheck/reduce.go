package lincheck

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// never is when an op returns that may happen at any time.
const never = time.Duration(math.MaxInt64)

// reduce is a short history of one user that is legal if and only if all of it
// is, with every accept allowed to have happened earlier by bound.
//
// A login lives from one instant to another. So of the accepts of a token, only
// the one that was asked last and the one that was answered first matter: where
// these two fit, so does every other. Whatever was true of a dead login stays
// true, so of the refusals with one code only the one that was answered first
// matters. An accept happened between the question for its login and the first
// answer that says that the login is over; and so did a logout without an answer,
// if it ended anything. Without that the search would follow each accept that it
// has passed by up to its answer, which may be many logins later.
func reduce(all []Op, bound time.Duration) []Op {
	type refusal struct {
		token int64
		code  string
	}
	var out []Op
	lastAsked, firstTold := map[int64]Op{}, map[int64]Op{}
	refused := map[refusal]Op{}
	lost := map[int64]Op{} // logouts without an answer, as one
	for _, o := range all {
		switch {
		case o.Kind == Verify && o.unknown(), o.refusal() && o.Code == codeExpired:
			// Says nothing, or nothing about what others did.
		case o.accept():
			o.Call -= bound
			if best, ok := lastAsked[o.Token]; !ok || o.Call > best.Call {
				lastAsked[o.Token] = o
			}
			if best, ok := firstTold[o.Token]; !ok || o.Return < best.Return {
				firstTold[o.Token] = o
			}
		case o.refusal():
			key := refusal{o.Token, o.Code}
			if best, ok := refused[key]; !ok || o.Return < best.Return {
				refused[key] = o
			}
		case o.Kind == Logout && o.unknown():
			if best, ok := lost[o.Token]; !ok || o.Call < best.Call {
				o.Return = never
				lost[o.Token] = o
			}
		case o.Kind == Limit && !o.unknown():
			o.Return = underWay(all, o.Return)
			out = append(out, o)
		case o.Kind == Login && o.unknown():
			o.Return = o.Call // from then on
			out = append(out, o)
		case o.unknown():
			o.Return = never
			out = append(out, o)
		default:
			out = append(out, o)
		}
	}
	over, begun := lives(all)
	for _, o := range lost {
		if at, ok := over[o.Token]; ok {
			o.Return = at
		}
		if o.Call <= o.Return {
			out = append(out, o)
		}
	}
	for _, best := range []map[int64]Op{lastAsked, firstTold} {
		for _, o := range best {
			if at, ok := over[o.Token]; ok && at >= o.Call { // else it fits nowhere, as it is
				o.Return = min(o.Return, at)
			}
			o.Call = min(max(o.Call, begun[o.Token]), o.Return)
			out = append(out, o)
		}
	}
	for _, o := range refused {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Op) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Return, b.Return), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Token, b.Token))
	})
	return slices.Compact(out)
}

// lives is, of each login, when a client had first received that it is over, if
// any did, and when it was asked for.
func lives(all []Op) (over, begun map[int64]time.Duration) {
	over, begun = map[int64]time.Duration{}, map[int64]time.Duration{}
	var logins []Op
	for _, o := range all {
		if o.Kind == Login && o.Outcome == Done {
			logins = append(logins, o)
			begun[o.Token] = o.Call
		}
	}
	ended := func(token int64, at time.Duration) {
		if first, ok := over[token]; !ok || at < first {
			over[token] = at
		}
	}
	slices.SortFunc(logins, func(a, b Op) int { return cmp.Compare(b.Token, a.Token) })
	next := never // when the first answer came of all later logins
	several := severalIn(all)
	for _, o := range logins {
		if next != never && !several {
			ended(o.Token, next)
		}
		next = min(next, o.Return)
	}
	for _, o := range all {
		if (o.Kind == Logout && o.Outcome == Done) || (o.refusal() && o.Code != codeExpired) {
			ended(o.Token, o.Return)
		}
	}
	return over, begun
}

// underWay is when the last of the logins was answered that were under way at that instant:
// until then a login may go by the limit of before, which it has read. It commits later.
func underWay(all []Op, at time.Duration) time.Duration {
	last := at
	for _, o := range all {
		if o.Kind == Login && !o.unknown() && o.Call < at {
			last = max(last, o.Return)
		}
	}
	return last
}
