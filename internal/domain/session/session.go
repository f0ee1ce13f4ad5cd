// Package session is the life of a login: what a token opens, where it is
// kept, and the service that begins, recognises and ends it.
//
// Death is absorbing. IDs are never reused, and every cause of death only ever
// grows, so "dead" may be remembered and copied anywhere, while "alive" is
// only a statement about the past. Every alive answer therefore carries its
// as-of: the instant before the database read that it comes from was sent. A
// cache may repeat it only while that instant, or the horizon up to which this
// instance knows of every end (see package feed), is younger than the bound.
package session

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"time"
	"unsafe"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A Hash is what is kept of a token: one version byte and the SHA-256 of its
// text. A fast hash is enough, for the secret has 130 random bits.
type Hash [1 + sha256.Size]byte

const hashVersion = 1

// HashOf hashes the text of a token.
func HashOf(t flakepass.Token) Hash {
	text := t.Reveal()
	//nolint:gosec // read only, and a copy of the text costs an allocation on every request
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(text), len(text)))
	var h Hash
	h[0] = hashVersion
	copy(h[1:], sum[:])
	return h
}

// IDOf is the ID of the session that t opens. The public package has a type of
// its own for IDs, because it requires no other module.
func IDOf(t flakepass.Token) idworker.ID { return idworker.ID(t.ID()) }

// UserOf is the ID of the user who holds a session.
func UserOf(who flakepass.Identity) idworker.ID { return idworker.ID(who.UserID) }

// HashOfSum is the hash of a token whose text has that SHA-256, or false if sum
// has another length.
func HashOfSum(sum []byte) (h Hash, ok bool) {
	h[0] = hashVersion
	return h, copy(h[1:], sum) == sha256.Size && len(sum) == sha256.Size
}

// Equal compares in constant time.
func (h *Hash) Equal(o *Hash) bool { return subtle.ConstantTimeCompare(h[:], o[:]) == 1 }

// A Reason says how a session ended. The zero Reason is: it has not.
type Reason string

// The reasons.
const (
	LoggedOut       Reason = "logged_out"
	Replaced        Reason = "replaced"
	Revoked         Reason = "revoked"
	PasswordChanged Reason = "password_changed"
	Disabled        Reason = "disabled"
	Expired         Reason = "expired"
	Idle            Reason = "idle"
)

// A Session is what a token opens, as it was at AsOf. When it was opened is
// read from its ID.
type Session struct {
	ID       idworker.ID
	UserID   idworker.ID
	Username string
	Role     string
	Hash     Hash      // of the token that opens it
	Seen     time.Time // when it was last used, as its row says: see [Rows]
	Ended    Reason    // empty while it lives
	EndedAt  time.Time // by the database's clock; zero where that is not known
	AsOf     time.Time // before the database read that this comes from was sent
	Before   bool      // of what [Writer].End returned: it was over before

	// Source says who gave this answer, and Horizon what it relies on if its
	// as-of is not enough: see [Accept].
	Source  Source
	Horizon time.Time
}

// A Source is who answered for a session.
type Source uint8

// The sources, farthest first.
const (
	FromDatabase Source = iota
	FromRedis
	FromMemory
)

// String is the name of the source in metrics.
func (s Source) String() string {
	switch s {
	case FromMemory:
		return "memory"
	case FromRedis:
		return "redis"
	default:
		return "database"
	}
}

// Alive reports whether the session had not ended as of AsOf. Whether it is
// too old is the policy's business.
func (s *Session) Alive() bool { return s.Ended == "" }

// ErrNotFound means that there is no such session and, as far as is still
// known, never was.
var ErrNotFound = errors.New("session not found")

// ErrUnpublished means that a session has ended for good, but that the other
// instances may not have received that. They read it within the bound.
var ErrUnpublished = errors.New("session ended, but other instances could not be notified")

// Done reports whether the call that returned err ended the session: with an error
// wrapping [ErrUnpublished] it did.
func Done(err error) bool { return err == nil || errors.Is(err, ErrUnpublished) }

// A Store answers for sessions. A tier is a Store in front of another Store.
// Stores do not share data with their callers.
//
// Get returns the session with that ID, alive or ended, or an error wrapping
// [ErrNotFound]; any other error means that it could not find out.
//
// Touch notes that a session was used then. It is advice: of a session that is
// not there, or that ended, it does nothing and returns nil. It must not
// revive, and must not wait for I/O in a tier that a request passes through.
//
// Publish takes in the end of a session, after the database has committed it, and
// passes it on. When it returns, this Store refuses the session for good, and so does
// every Store behind it; an error wrapping [ErrUnpublished] means that a Store shared
// with other instances could not be written. An end may come twice, late or out of
// order: the Store is then in the same state as after one.
type Store interface {
	Get(ctx context.Context, id idworker.ID) (Session, error)
	Touch(ctx context.Context, id idworker.ID, seen time.Time) error
	Publish(ctx context.Context, ended Session) error
}

// A Writer is where sessions begin and end: the database. Each method is all or
// nothing, and when it has returned without an error, the change is durable. If a
// Record is given, its event is written in the same transaction.
//
// Begin makes a session its user's only one. The error wraps an [*IDError] if the
// session cannot have that ID.
//
// End ends one session and returns it with its reason. If it had ended before,
// End changes nothing, writes no event, returns it with the reason it ended for
// then, and says so in Before. The error wraps [ErrNotFound] if there is none such.
type Writer interface {
	Begin(ctx context.Context, o Opening) (Begun, error)
	End(ctx context.Context, e Ending) (Session, error)
}

// An Opening asks for a new session.
type Opening struct {
	ID     idworker.ID // greater than that of every session that the user has had
	Hash   Hash        // of its token
	UserID idworker.ID
	// PasswordVersion is the version of the password that was checked. If it is
	// no longer the user's, Begin refuses.
	PasswordVersion int64
	Seen            time.Time
	Record          *Record // nil: the beginning is not on record
}

// Begun is what came of an Opening.
type Begun struct {
	Session  Session
	Replaced Session // the session that ended for it; its ID is 0 if there was none
}

// An IDError means that a session cannot have the ID that it was to have: its user
// has had a session with that ID or a greater one, or another user has. Nothing
// changed. One above Above may do.
type IDError struct{ Above idworker.ID }

// Error names no ID: they differ each time.
func (*IDError) Error() string { return "another session has that ID, or a greater one" }

// An Ending names a session that is to end: by its ID and hash, or, if ID is
// 0, as whatever session its user has. With a Record it may have an ID and no hash,
// for who ends a session on another's word has no token.
type Ending struct {
	ID     idworker.ID
	Hash   Hash
	UserID idworker.ID
	Reason Reason
	Record *Record // nil: the end is not on record
}

// An End is what the database says of the last end of a user's login: every
// session of that user with that ID or a smaller one is over.
type End struct {
	UserID idworker.ID
	Floor  idworker.ID
	Reason Reason    // of the session whose ID the floor is
	At     time.Time // when it was stamped, by the database's clock
}

// Rows are the Store behind all others, where the sessions themselves are.
//
// Settle decides whether a session is over by the policy, and for good. It waits
// for the transaction that writes the row, reads the policy with it, and goes by the
// database's clock. If the session lives, it was used at that time and the row
// does not know it yet, the row has it before Settle returns; a zero time is no
// use. What the policy has ended comes back with the reason [Expired] or [Idle].
// The error wraps [ErrUnsettled] while the answer is unknown, as during a change of the
// policy.
//
// The row is the only one that judges a use, at the moment in which it is
// written. So whatever stands in front of the rows repeats the row's time of last
// use, and never one that the row may refuse.
type Rows interface {
	Store
	Settle(ctx context.Context, id idworker.ID, used time.Time) (Session, error)
}

// ErrUnsettled means that the policy is being changed, so that it is unknown for
// good whether a session is over.
var ErrUnsettled = errors.New("the policy is being changed")

// A Basis is what was read in the same statement as a row.
type Basis struct {
	Version int64     // of the policy in force
	Now     time.Time // by the clock of the database
}

// News is what an instance learns from one poll of the database.
type News struct {
	Now    time.Time   // the database's clock, read before all else
	Global idworker.ID // every session with this ID or a smaller one is over, of every user
	Policy policy.Policy
	// Steady means that no change of the policy was under way: whatever policy
	// follows has bases at or above the watermarks of this one at Now.
	Steady bool
	// Server names the server that answered, where there may be several.
	Server string
	Ends   []End
}

// Life is how long after its as-of an alive answer may be repeated at most, by
// instances that receive every end: long enough that what is in use is read
// rarely, and that an instance which cannot read can still answer for as long
// as the bound lets it.
func Life(bound time.Duration) time.Duration { return max(time.Minute, 4*bound) }

// Age is how long ago an as-of was: by the clock that ran on or by the clock
// on the wall, whichever says more, for the one stands still while a machine
// sleeps and the other can be set.
func Age(now, asOf time.Time) time.Duration {
	return max(now.Sub(asOf), now.Round(0).Sub(asOf.Round(0)))
}
