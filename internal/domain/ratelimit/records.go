package ratelimit

import (
	"context"

	"github.com/flakepass/flakepass/idworker"
)

// Records are what the database has of the logins of accounts, and of the attempts
// at them. Each method is one statement in the usual case.
//
// Look asks the same, by the same work, of a name that nobody has. Swap writes a
// guard if its row is still as it was read, and returns it as it is written then;
// otherwise it reports false. Remember notes that a user has logged in at a place.
// Clear deletes up to limit guards that are full, and returns how many.
type Records interface {
	Look(ctx context.Context, q Query) (Record, error)
	Swap(ctx context.Context, was, is Guard) (Guard, bool, error)
	Remember(ctx context.Context, user idworker.ID, place []byte) error
	Clear(ctx context.Context, limit int) (int, error)
}

// A Query is about one attempt. The keys say nothing to who has not the key of the
// deployment.
type Query struct {
	Account string // normalised
	Place   []byte // a keyed hash of account and place
	// Keys of the guards: of what the account is counted by if nobody has that name,
	// of the place, and of the device; 0: none.
	Shadow, PlaceKey, DeviceKey int64
}

// A Record is what there is to that.
type Record struct {
	Now  int64       // Unix milliseconds, by the database's clock
	User idworker.ID // 0: nobody has that name
	// Hashes of the token of the user's last login and of the one before; may be nil.
	TokenHash, EndedTokenHash []byte
	PlaceSeen                 int64 // when the user last logged in at that place; 0: never
	Places                    bool  // there are places at which the user has logged in
	// Strangers has the key of the user, or the shadow of a name that nobody has.
	Strangers, Place, Device Guard
}
