// Package session is the life of a login: what a token opens, where it is
// kept, and the service that begins, recognises and ends it.
//
// An end is final. IDs are never reused, and every cause of an end only grows, so
// "ended" may be cached and copied anywhere. "Alive" is only a statement about the
// past. So every alive answer carries its as-of: the instant before its database read
// was sent. A cache may repeat the answer only while the as-of is younger than the
// bound, or the horizon is: this instance knows every end up to its horizon (see
// package feed).
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

// A Reason says how a session ended. The zero Reason means that it lives.
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
	OverLimit       Reason = "over_limit" // the policy allows fewer sessions a user than before
)

// A Session is what a token opens, as it was at AsOf. When it was opened is
// read from its ID.
type Session struct {
	ID       idworker.ID
	UserID   idworker.ID
	Username string
	Role     string
	Hash     Hash      // of the token that opens it
	Device   *Device   // a cache has no name of it; see [Device] for nil
	Seen     time.Time // when it was last used, as its row says: see [Rows]
	Ended    Reason    // empty while it lives
	EndedAt  time.Time // by the database's clock; zero where that is not known
	AsOf     time.Time // before the database read for this answer was sent
	Before   bool      // in a result of [Writer].End: it had ended before
	Slot     Slot      // in which its user has it

	// Source says which tier gave this answer. Horizon is what the answer relies on
	// if its as-of is too old: see [Accept].
	Source  Source
	Horizon time.Time
}

// A Slot is one of the places in which a user has sessions: one session at a time in
// each. Slot 0 is on the user's row; each further one is a row of its own. The IDs of the
// sessions of one slot grow, so one number says which of them are over: see [End]. A
// session stays in its slot.
type Slot uint8

// MaxSlots is how many slots a user has at most.
const MaxSlots = policy.MostSessions

// A Source is the tier that answered for a session.
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

// End is what a session that has ended says of its slot.
func (s *Session) End() End {
	return End{UserID: s.UserID, Slot: s.Slot, Floor: s.ID, Reason: s.Ended}
}

// expiry is what a policy makes of s.
func (s *Session) expiry(p *policy.Policy) policy.Expiry { return p.For(s.Device.ClassName(), s.Role) }

// ClassName is the class; that of a nil Device is [OtherDevice].
func (d *Device) ClassName() string {
	if d == nil {
		return OtherDevice
	}
	return d.Class
}

// ErrNotFound means that there is no such session, and that no trace of an earlier one
// is kept.
var ErrNotFound = errors.New("session not found")

// ErrUnpublished means that a session has ended, but that the other instances may not
// have received the message. They read the end from the database within the bound.
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
// Touch notes that a session was used at that time. If the session does not exist, or
// has ended, Touch does nothing and returns nil. It must not revive a session, and must
// not wait for I/O in a tier that a request passes through.
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

// A Publisher is a [Store] for those who only publish.
type Publisher interface {
	Publish(ctx context.Context, ended Session) error
}

// PublishAll publishes each of the sessions, also if it fails for one.
func PublishAll(ctx context.Context, to Publisher, ended []Session) error {
	var errs []error
	for _, was := range ended {
		errs = append(errs, to.Publish(ctx, was))
	}
	return errors.Join(errs...)
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

// A Basis is what was read in the same statement as a row.
type Basis struct {
	Version int64     // of the policy in force
	Now     time.Time // by the clock of the database
}

// News is what an instance learns from one poll of the database.
type News struct {
	Now    time.Time   // the database's clock, read before all else
	Asked  time.Time   // by this machine's clock, before Now was read; zero: when the poll began
	Global idworker.ID // every session with this ID or a smaller one is over, of every user
	Policy policy.Policy
	// Steady means that no change of the policy was under way: the next policy has
	// bases at or above the watermarks of this one at Now.
	Steady bool
	// Server names the server that answered, where there may be several.
	Server string
	// Lost means that a change which an earlier poll has committed is missing.
	Lost bool
	Ends []End
	// Renames are the users who got another username: see [Renames].
	Renames []Rename
}

// Life is how long after its as-of an instance that receives every end may repeat an
// alive answer. It is long enough that a session in use is read rarely, and that an
// instance without its database can answer for as long as the bound allows.
func Life(bound time.Duration) time.Duration { return max(time.Minute, 4*bound) }

// Age is the time since an as-of: by the monotonic clock or by the wall clock,
// whichever gives more. The monotonic clock stops while a machine sleeps, and the wall
// clock can be set.
func Age(now, asOf time.Time) time.Duration {
	return max(now.Sub(asOf), now.Round(0).Sub(asOf.Round(0)))
}
