package limit

import (
	"fmt"
	"time"
)

// A Wrong says what is wrong with one rule, in a sentence. Field is its name in
// the API, without what is around it.
type Wrong struct{ Field, Code, Message string }

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

// A bound is between what protects nothing and what nobody can work with.
type bound struct {
	field             string
	fewest, most      int           // attempts
	shortest, longest time.Duration // of the period
	wait              time.Duration // longest time until one more attempt
	rate              time.Duration // shortest
	why               string
}

// bounds are those of each rule. NIST SP 800-63B-4 section 3.2.2 wants at most
// 100 failures in a row on one account; with fewer than 10, or with no period of
// a day, a stranger either locks a new device out at once or guesses for ever.
var bounds = map[string]bound{
	"login_place": {"login_place", 3, 1000, second, 90 * day, day, 100 * time.Millisecond,
		"3 to 1000 attempts in 1s to 90d, one more at least once a day and at most ten times a second"},
	"login_account": {"login_account", 10, 100, day, 90 * day, day, 0,
		"10 to 100 attempts (NIST SP 800-63B-4 section 3.2.2) in 1d to 90d, one more at least once a day"},
	"login_address": {"login_address", 10, 10_000, second, day, minute, 10 * time.Millisecond,
		"10 to 10000 attempts in 1s to 1d, one more at least once a minute, for many people share an address, and at most 100 a second"},
	"register": {"register", 1, 10_000, second, 30 * day, day, 100 * time.Millisecond,
		"1 to 10000 accounts in 1s to 30d, one more at least once a day and at most ten a second"},
	"introspect": {"introspect", 1, 1_000_000, second, hour, second, 0,
		"1 to 1000000 questions in 1s to 1h, at least one a second"},
}

// slowest is how much the last rule of a place may allow in the long run. NIST's
// 100 failures would else be over in minutes at one place.
const slowest = 10 * minute

// Check returns everything that is wrong with l; nil if it can be in a policy.
func (l *Limits) Check() []Wrong { return l.check(l.Place()) }

// check is Check, with as many rules of a place as somebody wrote down.
func (l *Limits) check(places int) (all []Wrong) {
	wrong := func(field, format string, args ...any) {
		all = append(all, Wrong{field, CodeInvalid, fmt.Sprintf(format, args...)})
	}
	place := l.LoginPlace[:min(places, MaxPlace)]
	for i, r := range place {
		if b := bounds["login_place"]; !b.holds(r) {
			wrong("login_place", "each rule of login_place must be %s", b.why)
			break
		} else if i > 0 && (r.Per <= place[i-1].Per || r.Count <= place[i-1].Count || r.Interval() <= place[i-1].Interval()) {
			wrong("login_place", "the rules of login_place must be sorted: each with a longer period and more attempts than the one before, and fewer for the time; else one of them is never reached")
			break
		}
	}
	switch {
	case len(place) == 0:
		wrong("login_place", "login_place must be a list of 1 to %d rules", MaxPlace)
	case len(all) == 0 && place[len(place)-1].Interval() < slowest:
		wrong("login_place", "the last rule of login_place must allow at most one attempt in %v in the long run, such as 50 in 1d", slowest)
	}
	for _, f := range []struct {
		field string
		rule  Rule
	}{
		{"login_account", l.LoginAccount}, {"login_address", l.LoginAddress}, {"register", l.Register}, {"introspect", l.Introspect},
	} {
		if b := bounds[f.field]; !b.holds(f.rule) {
			wrong(f.field, "%s must be %s", f.field, b.why)
		}
	}
	return all
}

func (b bound) holds(r Rule) bool {
	return !r.None() && r.Count >= b.fewest && r.Count <= b.most && r.Per >= b.shortest && r.Per <= b.longest &&
		r.Per%time.Second == 0 && r.Interval() <= b.wait && r.Interval() >= b.rate
}
