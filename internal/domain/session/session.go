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
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"maps"
	"sync/atomic"
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
	Hash     Hash        // of the token that opens it
	Before   bool        // in a result of [Writer].End: it had ended before
	Slot     Slot        // in which its user has it
	Source   Source      // which tier gave this answer
	Act      idworker.ID // the admin who acts by it for the user; 0: the user does
	Device   *Device     // a cache has no name of it; see [Device] for nil
	Auth     *Auth       // see [Auth] for nil
	Seen     time.Time   // when it was last used, as its row says: see [Rows]
	Ended    Reason      // empty while it lives
	EndedAt  int64       // in Unix milliseconds by the database's clock; 0 where that is not known
	AsOf     time.Time   // before the database read for this answer was sent
	// Horizon is what the answer relies on if its as-of is too old: see [Accept].
	Horizon time.Time
}

// A Slot is one of the places in which a user has sessions: one session at a time in
// each. Slot 0 is on the user's row; each further one is a row of its own. The IDs of the
// sessions of one slot grow, so one number says which of them are over: see [End]. A
// session stays in its slot.
type Slot uint8

// MaxSlots is how many slots a user has at most: one for each session that a policy may
// allow, and [SlotOfAct].
const MaxSlots = policy.MostSessions + 1

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

// Expiry is what a policy makes of s.
func (s *Session) Expiry(p *policy.Policy) policy.Expiry {
	e := p.For(s.Device.ClassName(), s.Role)
	if s.Act != 0 {
		return e.Passive(ActLife)
	}
	return e
}

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

// A Rename says that a user got another username, and when, by the database's clock.
type Rename struct {
	UserID idworker.ID
	At     time.Time
}

// Renames are the renames that a tier has received lately. After a rename, the sessions of the
// user that a tier remembers have the old name. An answer of a tier that may not know of the
// rename has the old name, too. Only an answer that was read after this tier received the rename
// is certain to have the new name. A rename ends no session: its row is only read once more.
//
// The bound holds as it does for ends. An answer is repeated only if it relies on a read or on a
// poll that is younger than the bound. That read or poll knows of every rename that was
// acknowledged before it. The zero value knows of no rename.
type Renames struct {
	known atomic.Pointer[map[idworker.ID]received]
}

type received struct {
	stamp int64     // of the rename: a poll brings it several times
	at    time.Time // by this machine's clock
}

// mostRenames is how many are remembered. A tier that receives more doubts all it has.
const mostRenames = 1 << 14

// Add notes what a poll has brought, at that time of this machine, and forgets what is
// older than keep. It returns false if there are too many: then it has forgotten all, and
// the caller believes no answer of before. One goroutine at a time may call it.
func (r *Renames) Add(list []Rename, now time.Time, keep time.Duration) bool {
	known := r.known.Load()
	fresh := false
	for _, n := range list {
		fresh = fresh || known == nil || (*known)[n.UserID].stamp < n.At.UnixMilli()
	}
	if !fresh {
		return true
	}
	next := map[idworker.ID]received{}
	if known != nil {
		maps.Copy(next, *known)
	}
	maps.DeleteFunc(next, func(_ idworker.ID, is received) bool { return Age(now, is.at) > keep })
	for _, n := range list {
		if ms := n.At.UnixMilli(); next[n.UserID].stamp < ms {
			next[n.UserID] = received{ms, now}
		}
	}
	if len(next) > mostRenames {
		r.known.Store(&map[idworker.ID]received{})
		return false
	}
	r.known.Store(&next)
	return true
}

// Of is when the last rename of a user was received here; false if none was of late.
func (r *Renames) Of(user idworker.ID) (time.Time, bool) {
	known := r.known.Load()
	if known == nil {
		return time.Time{}, false
	}
	is, ok := (*known)[user]
	return is.at, ok
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
