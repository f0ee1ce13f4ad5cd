package layer

import (
	"context"
	"errors"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
)

// ServiceKeys read the keys of services as sessions are read: through the same
// slots, and only from a server that decides for its cluster.
type ServiceKeys struct {
	servicekey.Rows
	Slots *ReadSlots
	// Decided says as of when the server is known to decide, at most: now for one server
	// alone, and the horizon of the last poll for one of several. It is false if no poll has
	// succeeded within the bound: see [ErrUnproven].
	Decided func() (asOf time.Time, ok bool)
}

// Find fails with [ErrUnproven] if it is not known whether the row is of a server that
// decides, and with the error of ctx if there is no slot in time.
//
// A server that was replaced while it stood still answers with what it had. That it was
// not is only known of the time before the last poll that began before the question: a later one
// may be the first on the next server. So the answer is as of then: no
// later poll carries the end of a key, as it does the end of a session.
func (k *ServiceKeys) Find(ctx context.Context, id idworker.ID) (servicekey.Held, error) {
	release, err := acquire(ctx, k.Slots.reads)
	if err != nil {
		return servicekey.Held{}, err
	}
	defer release()
	asOf, before := k.Decided()
	got, err := k.Rows.Find(ctx, id)
	if err != nil && !errors.Is(err, servicekey.ErrNotFound) {
		return servicekey.Held{}, err
	}
	if _, after := k.Decided(); !before || !after {
		return servicekey.Held{}, ErrUnproven
	}
	if asOf.Before(got.AsOf) {
		got.AsOf = asOf
	}
	return got, err
}
