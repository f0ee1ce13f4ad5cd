package limit

import (
	"fmt"
	"time"
)

// A Wrong says what is wrong with one rule, in a sentence. Field is its name in
// the API, without what is around it. Kind says the same to an edge that has sentences
// of its own, and Rule which of the rules of login_place it is, from 0.
type Wrong struct {
	Field, Code, Message string
	Kind                 Kind
	Rule                 int
}

// A Kind is one of the ways in which limits can be wrong.
type Kind int

// Kinds of a [Wrong].
const (
	Missing    Kind = iota // there is no rule
	OutOfRange             // beyond its [Range]
	Unsorted               // a rule of login_place that is never reached, or makes the one before it so
	TooFast                // the last rule of login_place allows more than one attempt in [Slowest]
	TooMany                // more than [MaxPlace] rules
)

// Codes of a [Wrong].
const (
	CodeRequired = "required"
	CodeInvalid  = "invalid"
)

const (
	second = time.Second
	minute = time.Minute
	hour   = time.Hour
	day    = 24 * time.Hour
)

// A Range is what a rule may be: strict enough to protect, and loose enough to work with.
type Range struct {
	Fewest, Most      int           // attempts
	Shortest, Longest time.Duration // of the period
	Wait              time.Duration // longest time until one more attempt
	Rate              time.Duration // shortest; 0: any

	why string
}

// RangeOf is the range of a limit by its name in the API; the zero Range if there is no
// such limit.
func RangeOf(field string) Range {
	for _, d := range definitions {
		if d.name == field {
			return d.Range
		}
	}
	return Range{}
}

// Slowest is the shortest interval that the last rule of a place may have. With less, an
// attacker at one place could make NIST's 100 failures in minutes.
const Slowest = 10 * minute

// Check returns everything that is wrong with l; nil if it can be in a policy.
func (l *Limits) Check() []Wrong { return l.check(l.Place()) }

// check is Check, with as many rules of a place as were written down.
func (l *Limits) check(places int) (all []Wrong) {
	wrong := func(field string, kind Kind, rule int, format string, args ...any) {
		all = append(all, Wrong{field, CodeInvalid, fmt.Sprintf(format, args...), kind, rule})
	}
	place := l.LoginPlace[:min(places, MaxPlace)]
	for i, r := range place {
		if b := RangeOf("login_place"); !b.holds(r) {
			wrong("login_place", OutOfRange, i, "each rule of login_place must be %s", b.why)
			break
		} else if i > 0 && (r.Per <= place[i-1].Per || r.Count <= place[i-1].Count || r.Interval() <= place[i-1].Interval()) {
			wrong("login_place", Unsorted, i, "the rules of login_place must be sorted: each with a longer period and more attempts than the one before, and fewer for the time; else one of them is never reached")
			break
		}
	}
	switch {
	case len(place) == 0:
		wrong("login_place", Missing, 0, "login_place must be a list of 1 to %d rules", MaxPlace)
	case len(all) == 0 && place[len(place)-1].Interval() < Slowest:
		wrong("login_place", TooFast, len(place)-1, "the last rule of login_place must allow at most one attempt in %v in the long run, such as 50 in 1d", Slowest)
	}
	for _, d := range singles {
		if r := *d.rule(l); !d.holds(r) {
			kind := OutOfRange
			if r == (Rule{}) {
				kind = Missing
			}
			wrong(d.name, kind, 0, "%s must be %s", d.name, d.why)
		}
	}
	return all
}

func (b Range) holds(r Rule) bool {
	return !r.None() && r.Count >= b.Fewest && r.Count <= b.Most && r.Per >= b.Shortest && r.Per <= b.Longest &&
		r.Per%time.Second == 0 && r.Interval() <= b.Wait && r.Interval() >= b.Rate
}
