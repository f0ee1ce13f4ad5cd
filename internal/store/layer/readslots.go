// Package layer has what stands between a request and the rows, in front of the next
// [session.Store] or [session.Rows]: [WriteBehind], [ReadSlots] and [FreshPolicy], from the one
// nearest to the request to the one nearest to the rows. [ServiceKeys] reads keys through the
// same slots.
package layer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// ReadSlots are [session.Rows] that read only so many rows at once. Make them with
// [NewReadSlots].
//
// When memory is cold, or Redis is gone, every request has a question for the
// database. Those over the limit wait, and are undecided if it takes too long;
// meanwhile logins and logouts find connections free.
type ReadSlots struct {
	session.Rows // everything but Get and Settle is the next one's
	reads        chan struct{}
	// Settling writes, and waits for locks: it must not take the slots of those that
	// read.
	settles chan struct{}
}

// mostWait is how long a question waits for a slot.
const mostWait = 3 * time.Second

var _ session.Rows = (*ReadSlots)(nil)

// NewReadSlots allows most questions to next at once, a quarter of them to settle;
// but at least one of each kind.
func NewReadSlots(next session.Rows, most int) *ReadSlots {
	settles := max(most/4, 1)
	return &ReadSlots{Rows: next, reads: make(chan struct{}, max(most-settles, 1)), settles: make(chan struct{}, settles)}
}

// Reads is how many questions are asked at once.
func (l *ReadSlots) Reads() int { return cap(l.reads) }

// Get asks the rows once there is a slot, or fails with the error of ctx. Slot and answer
// together may take as long as a slot.
func (l *ReadSlots) Get(ctx context.Context, id idworker.ID, shown session.Hash) (session.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	release, err := acquire(ctx, l.reads)
	if err != nil {
		return session.Session{}, err
	}
	defer release()
	return l.Rows.Get(ctx, id, shown)
}

// Settle is as Get, with slots of its own.
func (l *ReadSlots) Settle(ctx context.Context, id idworker.ID, used time.Time) (session.Session, error) {
	release, err := acquire(ctx, l.settles)
	if err != nil {
		return session.Session{}, err
	}
	defer release()
	return l.Rows.Settle(ctx, id, used)
}

func acquire(ctx context.Context, slots chan struct{}) (release func(), err error) {
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("layer: waiting to ask: %w", ctx.Err())
	}
}

// ServiceKeys read the keys of services as sessions are read: through the same
// slots, and only from a server that decides for its cluster.
type ServiceKeys struct {
	servicekey.Rows
	Slots *ReadSlots
	// Decided says as of when the server is known to decide, at most: now for one server
	// alone, and the horizon of the last poll for one of several. It is false if no poll has
	// succeeded within the bound: see [ErrUnproven].
	Decided func() (asOf time.Time, ok bool)
	// Polled, if set, is for what the server that answers may lack.
	Polled Polled
}

// Find fails with [ErrUnproven] if it is not known whether the row is of a server that
// decides, with [ErrMayLack], and with the error of ctx if there is no slot in time.
//
// A server that stood still may have been replaced meanwhile. It then answers with old data. A
// poll shows that its server still decided when the poll began. Only a poll that was applied
// before the question counts, because a later poll may have reached the next server. So the
// answer is as of the start of the last poll before the question. A later poll makes it no
// fresher: polls carry the ends of sessions, and not the ends of keys.
func (k *ServiceKeys) Find(ctx context.Context, id idworker.ID) (servicekey.Held, error) {
	release, err := acquire(ctx, k.Slots.reads)
	if err != nil {
		return servicekey.Held{}, err
	}
	defer release()
	asOf, before := k.Decided()
	polled := k.Polled.before()
	got, err := k.Rows.Find(ctx, id)
	if err != nil && !errors.Is(err, servicekey.ErrNotFound) {
		return servicekey.Held{}, err
	}
	if _, after := k.Decided(); !before || !after {
		return servicekey.Held{}, ErrUnproven
	}
	if err != nil && mayLack(polled, id) {
		return servicekey.Held{}, ErrMayLack
	}
	if asOf.Before(got.AsOf) {
		got.AsOf = asOf
	}
	return got, err
}
