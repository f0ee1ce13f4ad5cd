package throttle

import (
	"context"
	"net/netip"

	"github.com/flakepass/flakepass/idworker"
)

// manyFailures is from how many wrong passwords in a row a right one is worth a
// notice: more than people mistype.
const manyFailures = 10

// A Notice is what is unusual about somebody who has just given the right
// password (OWASP ASVS 5.0, 6.3.5 and 6.3.7).
type Notice struct {
	User     idworker.ID
	Address  netip.Addr
	NewPlace bool
	// Failures is how many wrong passwords for the account came before, about, from
	// wherever; 0 if they were few.
	Failures int
}

// failures is how many wrong passwords are counted against the account, or 0 if
// they are few or nobody counts. It takes one attempt to learn that, from a
// bucket that is about to be filled up.
func (g *Gate) failures(ctx context.Context, a Attempt) int {
	r := g.Limits().LoginAccount
	if g.Noticed == nil || r.None() {
		return 0
	}
	// Beside the failures, this attempt was taken, and the question itself.
	n := r.Count - g.Store.Take(ctx, Bucket{Key: g.accountKey(a), Rule: r}).Remaining - 2
	if n < manyFailures {
		return 0
	}
	return n
}
