package session

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// A Repair ends sessions again whose ends the database has lost: an asynchronous replica took the
// place of the server that had them, or an older copy was restored. It can repair only the ends
// that this instance remembers. Until they are repaired, this instance believes no row that
// contradicts them.
type Repair struct {
	// Known are the ends that this instance remembers, and All is the highest ID at and
	// below which it knows every session to be over.
	Known func() []End
	All   func() idworker.ID
	// Rows ends in the database what of these lives there, and returns which ones.
	Rows interface {
		EndAgain(ctx context.Context, known []End, all idworker.ID, event audit.Event) (Lost, error)
	}
	EventIDs audit.IDs
	// Repaired counts ends that were lost.
	Repaired func(ends int)
	Log      *slog.Logger

	soon chan struct{}
}

// Lost are the ends that the database had lost.
type Lost struct {
	Ends int  // of users
	All  bool // of everybody
}

// NewRepair returns a Repair of which all fields are to be set.
func NewRepair() *Repair { return &Repair{soon: make(chan struct{}, 1)} }

// Soon asks for a repair. It waits for nothing.
func (r *Repair) Soon() {
	select {
	case r.soon <- struct{}{}:
	default: // it is asked for already
	}
}

// repairAgain is how long after a failure a repair is tried once more.
const repairAgain = time.Second

// Run repairs when it is asked to, until ctx ends.
func (r *Repair) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.soon:
		}
		if err := r.repair(ctx); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "the database may have lost commits; which ends of logins are missing is not known yet", "err", err)
			time.AfterFunc(repairAgain, r.Soon)
		}
	}
}

func (r *Repair) repair(ctx context.Context) error {
	id, err := r.EventIDs.Next(ctx)
	if err != nil {
		return fmt.Errorf("session: repair: %w", err)
	}
	event := audit.Event{
		ID: id, By: audit.Actor{Name: "flakepass", Via: audit.ViaServer}, Need: audit.NeedsNothing,
		Action: audit.CommitsLost, Target: audit.Target{Kind: "database"},
	}
	lost, err := r.Rows.EndAgain(ctx, r.Known(), r.All(), event)
	if lost.Ends > 0 || lost.All {
		r.Repaired(lost.Ends)
		r.Log.ErrorContext(ctx, "the database has lost commits; logins that had ended were alive in it, and are ended again",
			"logins", lost.Ends, "all_logins", lost.All)
	}
	if err != nil {
		return fmt.Errorf("session: repair: %w", err)
	}
	return nil
}
