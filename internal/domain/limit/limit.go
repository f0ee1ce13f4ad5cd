// Package limit is how much strangers may try, as a value: part of the policy,
// which an operator changes while instances run. Package ratelimit
// counts the attempts.
package limit

import (
	"fmt"
	"time"
)

// A Rule allows Count attempts at once, and Count more in each Per, evenly. The
// zero Rule allows everything.
type Rule struct {
	Count int
	Per   time.Duration
}

// None reports whether the rule allows everything.
func (r Rule) None() bool { return r.Count <= 0 || r.Per <= 0 }

// Interval is the time in which one more attempt trickles in, and so the longest
// that a client waits for the next one; 0 of a rule that allows everything.
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
	// hold together, the shortest first, those that are none last. A short one is
	// for a slip of the finger, longer ones make a client that goes on wait longer and
	// longer.
	LoginPlace [MaxPlace]Rule
	// LoginAccount is for wrong passwords for one account from places and devices
	// at which it was not logged in to before: what is beyond it is refused there, and
	// there only. A device at which it was is counted by itself.
	LoginAccount Rule
	// LoginAddress is for attempts from one address, whatever the account.
	LoginAddress Rule
	// Register is for new accounts from one address.
	Register Rule
	// Introspect is for what one service asks of introspection and revocation.
	Introspect Rule
}

// Default is what holds unless an operator has set something else. NIST SP
// 800-63B-4 section 3.2.2 wants at most 100 failures in a row on one account.
func Default() Limits {
	const day = 24 * time.Hour
	return Limits{
		LoginPlace:   [MaxPlace]Rule{{5, time.Minute}, {20, time.Hour}, {50, day}},
		LoginAccount: Rule{100, 30 * day},
		LoginAddress: Rule{120, time.Minute},
		Register:     Rule{30, time.Hour},
		Introspect:   Rule{1000, time.Second},
	}
}

// LoginNetwork is how much of LoginAccount those of one network may use: a fifth,
// and three attempts at least. So it takes five networks to use up what strangers
// have at an account.
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
func Names() []string {
	return []string{"login_place", "login_account", "login_address", "register", "introspect"}
}

// Of returns the rules of the limit of that name, to be read or set: all
// [MaxPlace] of login_place, where the last ones may be none, and one of any
// other. It is nil if there is no such limit.
func (l *Limits) Of(name string) []*Rule {
	switch name {
	case "login_place":
		all := make([]*Rule, len(l.LoginPlace))
		for i := range all {
			all[i] = &l.LoginPlace[i]
		}
		return all
	case "login_account":
		return []*Rule{&l.LoginAccount}
	case "login_address":
		return []*Rule{&l.LoginAddress}
	case "register":
		return []*Rule{&l.Register}
	case "introspect":
		return []*Rule{&l.Introspect}
	}
	return nil
}
