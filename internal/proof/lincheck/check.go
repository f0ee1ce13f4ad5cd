package lincheck

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// limit is how long the search for one user's order may take. A history that is
// not decided by then counts as illegal.
const limit = 30 * time.Second

// A Verdict says whether a history can be true.
type Verdict struct {
	Legal bool
	Users int
	Ops   int

	// Of an illegal history, the first user whose part of it cannot be true, why,
	// and the ops that show it.
	User    string
	Why     string
	History []Op
}

// String is the verdict for a person, the history included if it is illegal.
func (v Verdict) String() string {
	if v.Legal {
		return fmt.Sprintf("legal: %d ops of %d users", v.Ops, v.Users)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "illegal: %s: %s\n", v.User, v.Why)
	for _, o := range v.History {
		b.WriteString("  " + o.String() + "\n")
	}
	return b.String()
}

// Check says whether one order explains the history, in which each accept
// happened between bound before its question and its answer, and everything else
// between question and answer. A bound of 0 is for a system that caches nothing.
//
// It also holds each instance to its own word, whatever the bound (see [Op].At),
// and each login to its Expires.
func Check(history []Op, bound time.Duration) Verdict {
	users := perUser(history)
	for _, user := range slices.Sorted(maps.Keys(users)) {
		v := checkUser(user, users[user], bound)
		if !v.Legal {
			v.Users, v.Ops = len(users), len(history)
			return v
		}
	}
	return Verdict{Legal: true, Users: len(users), Ops: len(history)}
}

// MeasuredBound is the smallest bound with which the history is legal, rounded up
// to a millisecond. If there is none, the verdict says why.
func MeasuredBound(history []Op) (time.Duration, Verdict) {
	most := time.Millisecond
	for _, o := range history {
		most = max(most, o.Call+time.Millisecond)
	}
	smallest := time.Duration(0)
	users := perUser(history)
	for _, user := range slices.Sorted(maps.Keys(users)) {
		ops := users[user]
		if checkUser(user, ops, smallest).Legal {
			continue
		}
		if v := checkUser(user, ops, most); !v.Legal {
			v.Users, v.Ops = len(users), len(history)
			return 0, v
		}
		low, high := smallest/time.Millisecond, most/time.Millisecond+1 // illegal with low, legal with high
		for low+1 < high {
			middle := low + (high-low)/2
			if checkUser(user, ops, middle*time.Millisecond).Legal {
				high = middle
			} else {
				low = middle
			}
		}
		smallest = high * time.Millisecond
	}
	return smallest, Verdict{Legal: true, Users: len(users), Ops: len(history)}
}

func perUser(history []Op) map[string][]Op {
	users := map[string][]Op{}
	for _, o := range history {
		users[o.User] = append(users[o.User], o)
	}
	return users
}

func checkUser(user string, all []Op, bound time.Duration) Verdict {
	for _, rule := range []func([]Op) (string, []Op){ownWord, expiry} {
		if why, ops := rule(all); why != "" {
			return Verdict{User: user, Why: why, History: ops}
		}
	}
	short := reduce(all, bound)
	switch search(short) {
	case porcupine.Ok:
		return Verdict{Legal: true}
	case porcupine.Unknown:
		return Verdict{User: user, Why: fmt.Sprintf("not decided within %v, with a bound of %v", limit, bound), History: short}
	default:
		return Verdict{User: user, Why: fmt.Sprintf("no order explains it, with a bound of %v", bound), History: culprits(all, short, bound)}
	}
}

func search(short []Op) porcupine.CheckResult {
	ops := make([]porcupine.Operation, len(short))
	for i := range short {
		ops[i] = porcupine.Operation{Input: &short[i], Call: int64(short[i].Call), Return: int64(short[i].Return)}
	}
	if severalIn(short) {
		return porcupine.CheckOperationsTimeout(severalModel, ops, limit)
	}
	return porcupine.CheckOperationsTimeout(model, ops, limit)
}

// culprits is what of an illegal history a person has to look at: the answers
// about tokens without which it would be legal, and what happened to these tokens
// and to the one after them.
func culprits(all, short []Op, bound time.Duration) []Op {
	kept := slices.Clone(all)
	for _, o := range short {
		if o.Kind != Verify {
			continue
		}
		without := slices.DeleteFunc(slices.Clone(kept), func(k Op) bool {
			return k.Kind == Verify && k.Token == o.Token && k.Outcome == o.Outcome && k.Code == o.Code
		})
		if search(reduce(without, bound)) == porcupine.Illegal {
			kept = without
		}
	}
	kept = reduce(kept, 0)
	first, last, next := int64(math.MaxInt64), int64(0), int64(math.MaxInt64)
	for _, o := range kept {
		if o.Kind == Verify {
			first, last = min(first, o.Token), max(last, o.Token)
		}
	}
	if last == 0 {
		return kept // what begins and ends logins cannot be true by itself
	}
	for _, o := range kept {
		if o.Kind == Login && o.Token > last {
			next = min(next, o.Token)
		}
	}
	return slices.DeleteFunc(kept, func(o Op) bool { return o.Token != 0 && (o.Token < first || o.Token > next) })
}
