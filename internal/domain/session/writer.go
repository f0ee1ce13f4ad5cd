package session

import (
	"context"
	"errors"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A Writer is where sessions begin and end: the database. Each method is all or
// nothing, and when it has returned without an error, the change is durable. If a
// Record is given, its event is written in the same transaction.
//
// Begin begins a session, and ends those for which it leaves no room: see [Room]. The
// error wraps an [*IDError] if the session cannot have that ID, and a [*LimitError] if the
// policy refuses it.
//
// End ends one session and returns it with its reason. If it had ended before,
// End changes nothing and writes no event. It returns the session with its earlier
// reason, and sets Before. The error wraps [ErrNotFound] if there is no such session.
//
// EndUser ends all sessions of e.UserID, or those of e.Class, but the one with the ID keep; 0 keeps none. It
// returns those that it ended, the newest first. If it ended none, it writes no event, and
// returns those that had ended for the same reason and that nothing has followed, with
// Before set: it is not known which instances know of their end.
type Writer interface {
	Begin(ctx context.Context, o Opening) (Begun, error)
	End(ctx context.Context, e Ending) (Session, error)
	EndUser(ctx context.Context, e Ending, keep idworker.ID) ([]Session, error)
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
	Device          *Device
	Place           Place
	Record          *Record // nil: the beginning is not on record
	// Act, if not 0, is the admin of an impersonation. It needs no password, no device and no
	// place, and has a Record.
	Act idworker.ID
	// Cancels is for the event that the login cancels the deletion for which its user has
	// asked. Without it Begin refuses such a login with [ErrDeletionAsked].
	Cancels *Record
}

// A Place is what is known of the place that a new session takes among those of its user.
type Place struct {
	// Known means that the app has shown the credential of an earlier login on the device.
	Known bool
	// Instead is a session of the user that ends for the new one, whatever the policy says;
	// 0 is none.
	Instead idworker.ID
	// Last, if not 0, is [LimitError].Last of the login that was refused: the newest session that
	// the user had then. If there is a newer session now, or if there is room now, Begin fails
	// with [ErrMoved]. So a user who logs out everywhere also ends a login that was refused and
	// could still be finished.
	Last idworker.ID
	// Issued is set for a session that an issuer opens.
	Issued *Issued
	// ProofAge is how long ago the password was shown. It is 0 unless a ticket stands for it.
	ProofAge time.Duration
}

// A LimitError means that the user has as many sessions as the policy allows, and that the policy
// refuses another one. No living session has ended. Choices are the sessions that could end for
// the new one, the newest first. If a limit of a device class is reached, only sessions of that
// class may be among them. Last is for a [Place].
type LimitError struct {
	Choices []Session
	Last    idworker.ID
}

// Error names no session.
func (*LimitError) Error() string { return "the user has as many sessions as the policy allows" }

// ErrMoved means that a session of the user has begun or ended since.
var ErrMoved = errors.New("another session has begun or ended meanwhile")

// ErrDeletionAsked means that the user has asked for the account to be deleted. A login
// cancels that, and has to bring an event for it.
var ErrDeletionAsked = errors.New("the user has asked for the account to be deleted")

// Begun is the result of an Opening.
type Begun struct {
	Session Session
	// DeletionCancelled means that the user had asked for the account to be deleted.
	DeletionCancelled bool
	Replaced          []Session // the sessions that ended for it, the least recently used first
	// Repeats is the session that the same request of an issuer had opened before; 0 is none.
	Repeats idworker.ID
	// NewDevice means that nothing says that the user has used the device before: neither a
	// credential nor the last session in one of the slots. For the first session of a user
	// it is false.
	NewDevice bool
}

// An IDError means that a session cannot have the requested ID: its user has had a
// session with that ID or a greater one, or another user has a session with that ID.
// Nothing changed. An ID greater than Above may succeed.
type IDError struct{ Above idworker.ID }

// Error names no ID: they differ each time.
func (*IDError) Error() string { return "another session has that ID, or a greater one" }

// An Ending names a session that is to end, by its ID and hash. With a Record it may have
// no hash, because an operator who ends it has no token. With the ID 0 it is about all
// sessions of its user: see [Writer].EndUser.
type Ending struct {
	ID     idworker.ID
	Hash   Hash
	UserID idworker.ID
	Class  string // of the devices whose sessions of the user end; "" is all
	Reason Reason
	Record *Record // nil: the end is not on record
}

// An End is the last end of a session in a slot in the database: every session of that
// user in that slot with that ID or a smaller one is over.
type End struct {
	UserID idworker.ID
	Slot   Slot
	Floor  idworker.ID
	Reason Reason    // of the session whose ID the floor is
	At     time.Time // when it was stamped, by the database's clock
}
