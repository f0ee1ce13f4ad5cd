// Package throttle bounds what strangers may try: passwords, registrations,
// questions about tokens.
//
// Each limit is a token bucket of its own (the generic cell rate algorithm): so
// many attempts at once, then one each time that one more has trickled in. An
// attempt is counted before it is made, so that a thousand at the same time are
// counted too; a success empties what was counted against it.
package throttle

import (
	"context"
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

// String is the rule as a person writes it.
func (r Rule) String() string {
	if r.None() {
		return "no limit"
	}
	return fmt.Sprintf("%d per %v", r.Count, r.Per)
}

// A Verdict is what a bucket says of one attempt.
type Verdict struct {
	Allowed   bool
	Remaining int           // attempts that could be made at once now
	Retry     time.Duration // until one more is allowed; 0 if one is
	Reset     time.Duration // until all are
}

// A Store keeps buckets. Take takes one attempt out of the bucket with that key,
// or says when there is one. Forget fills it up. Neither fails: a store that
// cannot remember elsewhere remembers by itself.
type Store interface {
	Take(ctx context.Context, key string, r Rule) Verdict
	Forget(ctx context.Context, key string)
}

// Limits are the rules in force. Those of one slice hold together, each with a
// bucket of its own: a short one for a slip of the finger, longer ones that make
// whoever goes on wait longer and longer.
type Limits struct {
	// LoginPlace is for wrong passwords for one account from one place.
	LoginPlace []Rule
	// LoginAccount is for wrong passwords for one account from places and devices
	// at which nobody has logged in to it: what is beyond it is refused there, and
	// there only. A device at which somebody has is counted by itself.
	LoginAccount Rule
	// LoginAddress is for attempts from one address, whatever the account.
	LoginAddress Rule
	// Register is for new accounts from one address.
	Register Rule
	// Reset is for attempts from one address to set a password by the token of a
	// reset.
	Reset Rule
}

// Default is what holds unless an operator has set something else. NIST SP
// 800-63B-4 section 3.2.2 wants at most 100 failures in a row on one account.
func Default() Limits {
	const day = 24 * time.Hour
	return Limits{
		LoginPlace:   []Rule{{5, time.Minute}, {20, time.Hour}, {50, day}},
		LoginAccount: Rule{100, 30 * day},
		LoginAddress: Rule{120, time.Minute},
		Register:     Rule{30, time.Hour},
		Reset:        Rule{30, time.Minute},
	}
}

// A LimitedError says that an attempt was not made. It is told alike whether or
// not there is such an account.
type LimitedError struct {
	Policy string        // which limit, by the name that clients see
	Rule   Rule          // what it allows
	Retry  time.Duration // after that, one more
	Reset  time.Duration // after that, all of them
}

// Error names the limit, and nobody.
func (e *LimitedError) Error() string {
	return fmt.Sprintf("throttle: %s: more than %v; again in %v", e.Policy, e.Rule, e.Retry.Round(time.Second))
}
