package session

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A Store answers for sessions. A tier is a Store in front of another Store.
// Stores do not share data with their callers.
//
// Get returns the session with that ID, alive or ended, or an error wrapping
// [ErrNotFound]; any other error means that it could not find out. shown is the hash of the
// token that is asked about. Whoever knows an ID may ask without the token: then the Hash of the
// session is another, and the answer is good for a refusal only. A tier keeps nothing of such an
// answer, so that strangers take no room from those who have a token.
//
// Touch notes that a session was used at that time. If the session does not exist, or
// has ended, Touch does nothing and returns nil. It must not revive a session, and must
// not wait for I/O in a tier that a request passes through.
//
// Publish takes in the ends of sessions, after the database has committed them, and passes them
// on. All ends of one act come in one call. So this instance refuses all of them before any of
// them waits for a Store that hangs, and they wait at the same time, not one after the other.
// When Publish returns, this Store refuses the sessions for good, and so does
// every Store behind it; an error wrapping [ErrUnpublished] means that a Store shared
// with other instances could not be written for all of them. An end may come twice, late or out of
// order: the Store is then in the same state as after one.
type Store interface {
	Get(ctx context.Context, id idworker.ID, shown Hash) (Session, error)
	Touch(ctx context.Context, id idworker.ID, seen time.Time) error
	Publish(ctx context.Context, ended ...Session) error
}

// A Publisher is a [Store] for those who only publish.
type Publisher interface {
	Publish(ctx context.Context, ended ...Session) error
}

// Rows are the Store behind all others, where the sessions themselves are.
//
// Settle decides finally whether a session is over by the policy. It waits for a
// transaction that writes the row, reads the policy in the same transaction, and uses
// the database's clock. used is the time of a use; zero is no use. If the session lives
// and used is later than in the row, Settle writes it before it returns. A session that
// the policy has ended comes back with the reason [Expired] or [Idle].
// The error wraps [ErrUnsettled] while the answer is unknown, as during a change of the
// policy.
//
// Only the row accepts or refuses a use, when the use is written. So every tier in
// front of the rows repeats the row's time of last use, and never a time that the row
// may still refuse.
type Rows interface {
	Store
	Settle(ctx context.Context, id idworker.ID, used time.Time) (Session, error)
}

// ErrUnsettled means that the policy is being changed, so that it is not yet decided
// whether a session is over.
var ErrUnsettled = errors.New("the policy is being changed")

// An Issued says how an issuer opens a session. The actor of [Service.Open] is then the issuer,
// who uses a service key. The transaction in which the session begins checks the right of this key.
type Issued struct {
	Auth
	// Request identifies the request of the issuer, if it is to be safe to repeat: a session
	// that the same request has opened within [RequestLife] ends for the new one, whatever the
	// policy says. Begin fails with [ErrRequestReused] if it had another body, and with
	// [ErrRequestOver] if that session has ended meanwhile.
	Request *Request
	// Again says that the request was known when its user was looked for, so that no code was
	// looked at. If it is not known any more when the session would begin, Begin fails with
	// [ErrRequestOver].
	Again bool
	// Factor is since when the user has the second factor of which a code was accepted; zero
	// if none was needed. It is kept with Request, for which the code is not looked at again.
	Factor time.Time
}

// A Request is hashes of what an issuer calls its request and of the body.
type Request struct{ Name, Body [sha256.Size]byte }

// RequestLife is for how long a request of an issuer is known again.
const RequestLife = 10 * time.Minute

// ErrRequestReused means that an issuer has sent two bodies under one name.
var ErrRequestReused = errors.New("another request had that name")

// ErrRequestOver means that the request has opened a session before, and that this session has
// ended. The request and its proofs are older than that end, so the request must not undo it.
var ErrRequestOver = errors.New("the session of that request has ended")
