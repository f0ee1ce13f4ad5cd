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

// A Range is between what protects nothing and what cannot be worked with.
type Range struct {
	Fewest, Most      int           // attempts
	Shortest, Longest time.Duration // of the period
	Wait              time.Duration // longest time until one more attempt
	Rate              time.Duration // shortest; 0: any

	why string
}

// RangeOf is the range of a limit by its name in the API, and the zero Range of
// what is none.
func RangeOf(field string) Range { return bounds[field] }

// bounds are those of each rule. NIST SP 800-63B-4 section 3.2.2 wants at most
// 100 failures in a row on one account; with fewer than 10, or with no period of
// a day, a stranger either locks a new device out at once or guesses for ever.
var bounds = map[string]Range{
	"login_place": {3, 1000, second, 90 * day, day, 100 * time.Millisecond,
		"3 to 1000 attempts in 1s to 90d, one more at least once a day and at most ten times a second"},
	"login_account": {10, 100, day, 90 * day, day, 0,
		"10 to 100 attempts (NIST SP 800-63B-4 section 3.2.2) in 1d to 90d, one more at least once a day"},
	"login_address": {10, 10_000, second, day, minute, 10 * time.Millisecond,
		"10 to 10000 attempts in 1s to 1d, one more at least once a minute, for many people share an address, and at most 100 a second"},
	"register": {1, 10_000, second, 30 * day, day, 100 * time.Millisecond,
		"1 to 10000 accounts in 1s to 30d, one more at least once a day and at most ten a second"},
	"introspect": {1, 1_000_000, second, hour, second, 0,
		"1 to 1000000 questions in 1s to 1h, at least one a second"},
}

// Slowest is how long it takes at least until the last rule of a place allows one
// more attempt. NIST's 100 failures would else be over in minutes at one place.
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
		if b := bounds["login_place"]; !b.holds(r) {
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
	for _, f := range []struct {
		field string
		rule  Rule
	}{
		{"login_account", l.LoginAccount}, {"login_address", l.LoginAddress}, {"register", l.Register}, {"introspect", l.Introspect},
	} {
		if b := bounds[f.field]; !b.holds(f.rule) {
			kind := OutOfRange
			if f.rule == (Rule{}) {
				kind = Missing
			}
			wrong(f.field, kind, 0, "%s must be %s", f.field, b.why)
		}
	}
	return all
}

func (b Range) holds(r Rule) bool {
	return !r.None() && r.Count >= b.Fewest && r.Count <= b.Most && r.Per >= b.Shortest && r.Per <= b.Longest &&
		r.Per%time.Second == 0 && r.Interval() <= b.Wait && r.Interval() >= b.Rate
}
