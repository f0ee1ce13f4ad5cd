package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Factors removes second factors. RemoveAndEnd ends the logins and writes the event in the
// same transaction. It returns the sessions that ended, and [account.ErrStale] unless the
// password is of that version.
type Factors interface {
	RemoveAndEnd(ctx context.Context, user idworker.ID, version int64, e audit.Event) ([]session.Session, error)
}

// RemoveSecondFactor removes the second factor of a user who has lost it, and ends
// the logins. Where there is none it does nothing. It returns the sessions that ended. It
// fails with [account.ErrNotFound].
//
// A password of fewer than 15 characters begins no login without a second factor, unless it was
// imported. So after the removal a user with such a password needs a new one.
func (u *Users) RemoveSecondFactor(ctx context.Context, by audit.Actor, id idworker.ID, reason string) ([]session.Session, error) {
	if err := CheckReason(reason); err != nil {
		return nil, err
	}
	for {
		user, err := u.Known.ByID(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("operator: remove second factor: %w", err)
		}
		if !user.HasSecondFactor() {
			return nil, u.Sessions.unchanged(ctx, by, needs[removeFactor])
		}
		e, err := audit.New(ctx, u.IDs, by, needs[removeFactor], audit.SecondFactorRemoved, userTarget(&user), reason, nil, nil)
		if err != nil {
			return nil, err
		}
		ended, err := u.Factors.RemoveAndEnd(ctx, id, user.PasswordVersion, e)
		if errors.Is(err, account.ErrStale) && ctx.Err() == nil {
			continue // the password was changed at the same time
		}
		if err != nil {
			return nil, fmt.Errorf("operator: remove second factor: %w", err)
		}
		ended, err = u.Sessions.publish(ctx, ended)
		logAct(ctx, u.Sessions.Log, by, err, "second factor removed", "user_id", id)
		return ended, err
	}
}
