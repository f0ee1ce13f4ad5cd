package idworker

import (
	"context"
	"errors"
	"time"
)

// What goes wrong with numbers and ranges.
var (
	// ErrLost says that the number belongs to another owner by now. Ranges lent
	// before stay valid: the new owner's lie beyond them.
	ErrLost = errors.New("idworker: number lost to another owner")

	// ErrNoNumber says that every number is in use.
	ErrNoNumber = errors.New("idworker: every worker number is in use")
)

// A Grant is a range of ID time lent under a number: From is the first instant
// inside, Until the first behind the end. Both are whole milliseconds.
//
// Token names this one act of lending. It is random, never derived from a host
// or process, because an earlier life of a process is another owner.
type Grant struct {
	Number      int
	Token       string
	From, Until time.Time
}

// A Lender lends ranges of ID time. It keeps a fence for each number, which is
// the end of the last range lent, and the token of its owner. All methods may
// be called at the same time, also by other processes on the same store.
//
// Each method is one step: it happens entirely or not at all, and what it
// changes is durable before it returns. If it returns an error other than
// ErrLost and ErrNoNumber, it may or may not have happened; at worst a range,
// or a number for a while, is wasted.
//
// Instants are rounded to whole milliseconds, never so that a range grows at
// its beginning or ends beyond the fence.
type Lender interface {
	// Acquire picks a number, gives it to a new owner with a new token, and
	// lends the range that begins at the fence or now, whichever is later, and
	// is window long. Taking a number from a living owner is safe, but impolite.
	// It is ErrNoNumber if there is none to be had.
	Acquire(ctx context.Context, window time.Duration) (Grant, error)

	// Extend moves the fence up to until, if it is lower, and returns g with
	// Until set to the fence, which is all the owner's. It is ErrLost, and
	// nothing moves, if g.Token is not the owner's any more.
	Extend(ctx context.Context, g Grant, until time.Time) (Grant, error)

	// Release ends the ownership and moves the fence down to used, but not
	// below g.From and never up. No ID at or after used has been or will be
	// minted from g. It is ErrLost, and nothing moves, if g.Token is not the
	// owner's any more.
	Release(ctx context.Context, g Grant, used time.Time) error
}
