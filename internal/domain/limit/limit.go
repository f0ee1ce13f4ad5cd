// Package limit has the rate limits as a value. They are part of the policy, which an
// operator changes while instances run. Package ratelimit counts the attempts.
package limit

import (
	"fmt"
	"time"

	"github.com/flakepass/flakepass/api/wire"
)

// A Rule allows Count attempts at once, and Count more in each Per, evenly. The
// zero Rule allows everything.
type Rule struct {
	Count int
	Per   time.Duration
}

// None reports whether the rule allows everything.
func (r Rule) None() bool { return r.Count <= 0 || r.Per <= 0 }

// Interval is the time after which the rule allows one more attempt, and so the longest
// that a client waits for the next one; 0 for a rule that allows everything.
func (r Rule) Interval() time.Duration {
	if r.None() {
		return 0
	}
	return r.Per / time.Duration(r.Count)
}

// String is the rule as a log has it.
func (r Rule) String() string {
	if r.None() {
		return "no limit"
	}
	return fmt.Sprintf("%d per %v", r.Count, r.Per)
}

// MaxPlace is how many rules hold together for one account at one place.
const MaxPlace = 4

// Limits are the rules in force. The zero value allows everything; it is in no
// policy. Limits can be compared.
type Limits struct {
	// LoginPlace is for wrong passwords for one account from one place: rules that
	// hold together, the shortest first, empty ones last. A short one allows typing
	// errors. Longer ones make a client that goes on wait longer each time.
	LoginPlace [MaxPlace]Rule
	// LoginAccount is for wrong passwords for one account from places and devices
	// without an earlier login to it. Attempts beyond the limit are refused only there.
	// A device with an earlier login has its own count.
	LoginAccount Rule
	// LoginAddress is for attempts from one address, whatever the account.
	LoginAddress Rule
	// Register is for new accounts from one address.
	Register Rule
	// Introspect is for what one service asks: tokens that it sends to be looked at or
	// revoked, logins that it opens, and its requests about users.
	Introspect Rule
}

// definitions are all that is fixed of each limit, in the order in which they are shown. The first,
// login_place, is a list of rules, and its default and its code are elsewhere. NIST SP 800-63B-4
// section 3.2.2 wants at most 100 failures in a row on one account. With fewer than 10 attempts in
// login_account, an attacker could lock a new device out at once. With a period shorter than a day,
// an attacker could guess for ever.
var definitions = []struct {
	name  string // in the API
	rule  func(*Limits) *Rule
	doc   func(*wire.Limits) **wire.Limit
	usual Rule
	Range
}{
	{name: "login_place", Range: Range{3, 1000, second, 90 * day, day, 100 * time.Millisecond,
		"3 to 1000 attempts in 1s to 90d, one more at least once a day and at most ten times a second"}},
	{"login_account", func(l *Limits) *Rule { return &l.LoginAccount }, func(d *wire.Limits) **wire.Limit { return &d.LoginAccount },
		Rule{100, 30 * day}, Range{10, 100, day, 90 * day, day, 0,
			"10 to 100 attempts (NIST SP 800-63B-4 section 3.2.2) in 1d to 90d, one more at least once a day"}},
	{"login_address", func(l *Limits) *Rule { return &l.LoginAddress }, func(d *wire.Limits) **wire.Limit { return &d.LoginAddress },
		Rule{120, minute}, Range{10, 10_000, second, day, minute, 10 * time.Millisecond,
			"10 to 10000 attempts in 1s to 1d, one more at least once a minute, for many people share an address, and at most 100 a second"}},
	{"register", func(l *Limits) *Rule { return &l.Register }, func(d *wire.Limits) **wire.Limit { return &d.Register },
		Rule{30, hour}, Range{1, 10_000, second, 30 * day, day, 100 * time.Millisecond,
			"1 to 10000 accounts in 1s to 30d, one more at least once a day and at most ten a second"}},
	{"introspect", func(l *Limits) *Rule { return &l.Introspect }, func(d *wire.Limits) **wire.Limit { return &d.Introspect },
		Rule{1000, second}, Range{1, 1_000_000, second, hour, second, 0,
			"1 to 1000000 questions in 1s to 1h, at least one a second"}},
}

// singles are the limits of one rule.
var singles = definitions[1:]

// Default is what holds unless an operator has set something else.
func Default() Limits {
	l := Limits{LoginPlace: [MaxPlace]Rule{{5, minute}, {20, hour}, {50, day}}}
	for _, d := range singles {
		*d.rule(&l) = d.usual
	}
	return l
}

// LoginNetwork is the share of LoginAccount that one network may use: a fifth, and at
// least three attempts. So an attacker needs five networks to use up LoginAccount.
func (l *Limits) LoginNetwork() Rule {
	if l.LoginAccount.None() {
		return Rule{}
	}
	return Rule{min(max(3, l.LoginAccount.Count/5), l.LoginAccount.Count), l.LoginAccount.Per}
}

// Place is how many rules there are for one account at one place.
func (l *Limits) Place() int {
	n := 0
	for n < MaxPlace && !l.LoginPlace[n].None() {
		n++
	}
	return n
}

// Names are the limits as the API names them, in the order in which they are
// shown.
func Names() (names []string) {
	for _, d := range definitions {
		names = append(names, d.name)
	}
	return names
}

// Of returns the rules of the limit of that name, to be read or set: all
// [MaxPlace] of login_place, where the last ones may be none, and one of any
// other. It is nil if there is no such limit.
func (l *Limits) Of(name string) []*Rule {
	for _, d := range singles {
		if d.name == name {
			return []*Rule{d.rule(l)}
		}
	}
	if name == "login_place" {
		return []*Rule{&l.LoginPlace[0], &l.LoginPlace[1], &l.LoginPlace[2], &l.LoginPlace[3]}
	}
	return nil
}
