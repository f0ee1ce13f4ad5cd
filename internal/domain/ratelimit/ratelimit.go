// Package ratelimit bounds how often clients may try passwords, register, and ask
// about tokens.
//
// Each limit is a token bucket of its own (the generic cell rate algorithm): so many
// attempts at once, then one for each interval of the rule. An attempt is counted
// before it is made, so that a thousand at the same time are counted, too. A right password
// gives back its own attempt. On a known device or at a known place it resets the count of that
// device or place instead, unless nothing else was counted there. An attempt that was not decided
// is given back.
package ratelimit

import (
	"context"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

// A Bucket is what one rule allows for one key, such as one address.
type Bucket struct {
	// Key is the name of the kind, a colon, and what is counted.
	Key  string
	Rule limit.Rule
	// Beside are the rules of the same Key that hold together; nil if Rule is the
	// only one. Their periods differ.
	Beside []limit.Rule
	// N is how many attempts are taken together, all or none; 0 means one.
	N int
}

// Cost is how long the bucket needs to regain what one [Store.Take] takes.
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
// how much was used before. The zero Receipt means that it was not counted.
type Receipt struct {
	At   time.Time
	Used time.Duration // until the bucket would have been full without this attempt
}

// Unused is how much of cost, which was taken, can be given back at that moment by the
// clock of the store. What the bucket has regained since is not given back: buckets may
// share their cells, and another bucket may use it by now.
func (r Receipt) Unused(cost time.Duration, now time.Time) time.Duration {
	return max(0, cost-max(0, now.Sub(r.At)-r.Used))
}

// A Store keeps buckets, in bounded memory, and evicts none: clients can invent any
// number of keys. So buckets may share memory, and one may seem less full than it is,
// never fuller.
//
// Take takes N attempts out of a bucket, or says when there are as many. Return puts
// back what Take allowed with that verdict; a bucket is never more than full.
// Forget fills all buckets of a key. None of them fails: a store whose server does not
// answer counts in its own memory, and gives nothing back to the server for an attempt
// that the server may have counted. All three do the same when ctx has ended, within a time of
// their own: a client that leaves changes no count.
//
// When a rule changes, what was used stays used, as a share of the whole: after all of
// the old rule, a client waits one interval of the new rule for one more attempt; after
// a third of the old rule, a third of the new one is used. Of rules beside each other,
// the one with the nearest period takes over what was used of a removed rule.
type Store interface {
	Take(ctx context.Context, b Bucket) Verdict
	Return(ctx context.Context, b Bucket, v Verdict)
	Forget(ctx context.Context, key string)
}

// A TooManyError says that more was asked for at once than a limit ever allows.
// Waiting does not help.
type TooManyError struct {
	Limit string // which
	Most  int    // at once
}

// Error names the limit.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("ratelimit: %s: more than %d at once", e.Limit, e.Most)
}

// Exports is how often a user may have the own data: see login.Service.Export. It is no limit of the policy: it guards
// the database, and the record counts it.
func Exports() limit.Rule { return limit.Rule{Count: 5, Per: time.Hour} }

// A LimitedError says that an attempt was not made. It is the same whether or
// not there is such an account.
type LimitedError struct {
	Limit string        // which, by the name that clients see
	Rule  limit.Rule    // what it allows
	Retry time.Duration // until the same number of attempts is allowed
	Reset time.Duration // until all are allowed again
}

// Error names the limit, and no account.
func (e *LimitedError) Error() string {
	return fmt.Sprintf("ratelimit: %s: more than %v; again in %v", e.Limit, e.Rule, e.Retry.Round(time.Second))
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

// Left is how many attempts are left when that much is used. A difference as small as
// rounding does not count.
func (b Bucket) Left(used time.Duration) int {
	interval := b.Rule.Interval()
	return int(max(0, b.Rule.Per-used+interval/100) / interval)
}
