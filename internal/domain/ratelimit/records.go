package ratelimit

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// Records are what the database keeps of the logins of accounts, and of the attempts
// to log in. Each method is one statement in the usual case.
//
// Look takes the same work for a name without an account. Swap writes a count if its
// row is still as it was read, and returns it as it was written; otherwise it reports
// false. If ctx ends while it writes, it goes on for a time of its own, so that who leaves
// meanwhile gets back what was counted. Remember records that a user has logged in at a place. Clear looks at
// up to limit counts that became full after that time, in this order, and deletes those that are [Count.Unused].
// It returns when the last of them became full, or 0 if there are no more.
type Records interface {
	Look(ctx context.Context, q Query) (Record, error)
	Swap(ctx context.Context, was, is Count) (Count, bool, error)
	Remember(ctx context.Context, user idworker.ID, place []byte) error
	Clear(ctx context.Context, after int64, limit int) (last int64, err error)
}

// A Query is about one attempt. Without the key of the deployment, its keys reveal
// nothing.
type Query struct {
	Account string      // see [Attempt]
	User    idworker.ID // see [Attempt]
	Token   idworker.ID // the ID of the token that the device has shown; 0: none
	Place   []byte      // a keyed hash of account and place
	// Keys of the counts: of the shadow, which counts if the name has no account, of the
	// place, and of the device; 0: none.
	Shadow, PlaceKey, DeviceKey int64
}

// A Record is the answer to a Query.
type Record struct {
	Now  int64       // Unix milliseconds, by the database's clock
	User idworker.ID // 0: the name has no account
	// Hashes of the tokens of logins of the user that the database still has: of the last
	// one and of the one before in slot 0, and in a further slot of the one that was asked
	// about. Some may be nil.
	Tokens    [][]byte
	PlaceSeen int64 // when the user last logged in at that place; 0: never
	Places    bool  // there are places at which the user has logged in
	// Strangers has the key of the user, or the shadow's if the name has no account.
	Strangers, Place, Device Count
}

// The limits of one call of [Clear].
const (
	clearBatch = 500
	clearTime  = 10 * time.Second // the next call goes on
)

// Clear deletes counts that limit nothing any more. It works in small batches, pauses
// after each for as long as it took, and stops after ten seconds. The next call deletes
// the rest. Any number of instances may call it at the same time.
func Clear(ctx context.Context, r Records) error {
	after := int64(0)
	for begin := time.Now(); time.Since(begin) < clearTime; {
		start := time.Now()
		last, err := r.Clear(ctx, after, clearBatch)
		if err != nil || last == 0 {
			return err
		}
		after = last
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(start)):
		}
	}
	return nil
}
