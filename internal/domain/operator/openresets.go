package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// OpenResets are the started resets that can be used, by who started them.
//
// OpenResets returns at most limit of them, newest first: those that issuer started
// (0: any issuer), older than before (0: the newest). WithdrawResets removes those that
// are still there and writes the event of each, with the same index, in one
// transaction, and returns how many it removed.
type OpenResets interface {
	OpenResets(ctx context.Context, issuer, before idworker.ID, limit int, now time.Time) ([]account.OpenReset, error)
	WithdrawResets(ctx context.Context, resets []account.OpenReset, events []audit.Event) (int, error)
}

// atATime is how many resets are withdrawn in one transaction: so many fit into the
// time that one has.
const atATime = 200

// ListResets returns at most limit resets that can be used now, newest first: those
// that issuer started (0: any issuer), older than before (0: the newest). What could
// be used is not in them.
func (u *Users) ListResets(ctx context.Context, issuer, before idworker.ID, limit int) ([]account.OpenReset, error) {
	open, err := u.Open.OpenResets(ctx, issuer, before, limit, u.Now())
	if err != nil {
		return nil, fmt.Errorf("operator: list resets: %w", err)
	}
	return open, nil
}

// WithdrawIssued ends all resets that issuer has started so far and that can be
// used, and returns how many there were. Each ends with its event in one
// transaction; where there are more than 200, with several transactions: after an
// error some may have ended, and it helps to call it again. It fails with
// [account.ErrNotFound] if there is no such user, and an [*invalid.Error]
// about the reason.
func (u *Users) WithdrawIssued(ctx context.Context, by audit.Actor, issuer idworker.ID, reason string) (int, error) {
	if err := CheckReason(reason); err != nil {
		return 0, err
	}
	if _, err := u.Known.ByID(ctx, issuer); err != nil {
		return 0, fmt.Errorf("operator: withdraw resets: %w", err)
	}
	withdrawn, before := 0, idworker.ID(0)
	for {
		open, err := u.ListResets(ctx, issuer, before, atATime)
		if err == nil && len(open) == 0 && before == 0 {
			err = u.Sessions.unchanged(ctx, by, needs[withdrawReset])
		}
		if err != nil || len(open) == 0 {
			logAct(ctx, u.Sessions.Log, by, err, "password resets withdrawn", "issuer_id", issuer, "withdrawn", withdrawn)
			return withdrawn, err
		}
		events := make([]audit.Event, len(open))
		for i, r := range open {
			target := audit.AboutUser(r.UserID, r.Username)
			if events[i], err = audit.New(ctx, u.IDs, by, needs[withdrawReset], audit.ResetWithdrawn, target, reason, r.Issuer, nil); err != nil {
				return withdrawn, err
			}
		}
		n, err := u.Open.WithdrawResets(ctx, open, events)
		if err != nil {
			return withdrawn, fmt.Errorf("operator: withdraw resets: %w", err)
		}
		// Only older ones follow, so that an issuer who goes on making links does not keep
		// this loop running.
		withdrawn, before = withdrawn+n, open[len(open)-1].ID
	}
}
