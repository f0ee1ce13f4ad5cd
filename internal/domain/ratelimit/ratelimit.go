// Package ratelimit bounds what strangers may try: passwords, registrations,
// questions about tokens.
//
// Each limit is a token bucket of its own (the generic cell rate algorithm): so
// many attempts at once, then one each time that one more has trickled in. An
// attempt is counted before it is made, so that a thousand at the same time are
// counted too; a success empties what was counted against it, and one of which
// nothing was found out is given back.
package ratelimit

import (
	"context"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

// A Bucket is what one rule allows to one of those whom it is for.
type Bucket struct {
	// Key is of what is counted, behind the name of its kind and a colon.
	Key  string
	Rule limit.Rule
	// Beside are the rules of the same Key that hold together; nil if Rule is the
	// only one. Their periods differ.
	Beside []limit.Rule
	// N is how many attempts are taken together, all or none; 0 means one.
	N int
}

// Cost is how long what one [Store.Take] takes needs to trickle in again.
func (b Bucket) Cost() time.Duration { return time.Duration(max(1, b.N)) * b.Rule.Interval() }

// A Verdict is what a bucket says of one attempt.
type Verdict struct {
	Allowed   bool
	Remaining int           // attempts that could be made at once now
	Retry     time.Duration // until as many more are allowed; 0 if they are
	Reset     time.Duration // until all are
	Near      Receipt       // of the store in this process
	Shared    Receipt       // of the store of all instances
}

// A Receipt says when a store counted an attempt, by the clock of that store, and
// how much was used before. The zero Receipt: it has not counted it.
type Receipt struct {
	At   time.Time
	Used time.Duration // until the bucket would have been full without this attempt
}

// Unused is how much of what was taken, cost, is there to be given
// back at that moment by the clock of the store: none of what has trickled in
// since. Buckets may share what they count in, and what has trickled in is
// another's by now.
func (r Receipt) Unused(cost time.Duration, now time.Time) time.Duration {
	return max(0, cost-max(0, now.Sub(r.At)-r.Used))
}

// A Store keeps buckets, in bounded memory, and evicts none: strangers can make
// up any number of keys. So buckets may share memory, and one may be found less
// full than it is, never fuller.
//
// Take takes N attempts out of a bucket, or says when there are as many. Return puts
// back what Take allowed with that verdict; a bucket is never more than full.
// Forget fills all buckets of a key up. None of them fails: a store that cannot
// remember elsewhere remembers by itself, and what may have been taken there is
// not put back there.
//
// When a rule changes, what was used of it stays used, as a share of the whole:
// who had used all waits, as long as the new rule has one wait for one more; who
// had used a third has used a third. Of rules beside each other, the one whose
// period is nearest takes over what is used of one that is gone.
type Store interface {
	Take(ctx context.Context, b Bucket) Verdict
	Return(ctx context.Context, b Bucket, v Verdict)
	Forget(ctx context.Context, key string)
}

// A TooManyError says that more was asked for at once than a limit ever allows.
// Waiting does not help.
type TooManyError struct {
	Policy string // which limit
	Most   int    // at once
}

// Error names the limit.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("ratelimit: %s: more than %d at once", e.Policy, e.Most)
}

// A LimitedError says that an attempt was not made. It is the same whether or
// not there is such an account.
type LimitedError struct {
	Policy string        // which limit, by the name that clients see
	Rule   limit.Rule    // what it allows
	Retry  time.Duration // after that, as many more as were asked for
	Reset  time.Duration // after that, all of them
}

// Error names the limit, and no account.
func (e *LimitedError) Error() string {
	return fmt.Sprintf("ratelimit: %s: more than %v; again in %v", e.Policy, e.Rule, e.Retry.Round(time.Second))
}

// SketchRows is in how many cells of a [Store] each bucket counts.
const SketchRows = 4

// SketchWidth is how many cells a store has in each row, for the buckets of one kind
// and period. docs/throttling.md has what follows from it.
func SketchWidth(kind string) int {
	if kind == "p" {
		return 1 << 16
	}
	return 1 << 14
}

// Left is how many attempts there are when so much is used. A difference as small as
// rounding does not count.
func (b Bucket) Left(used time.Duration) int {
	interval := b.Rule.Interval()
	return int(max(0, b.Rule.Per-used+interval/100) / interval)
}
