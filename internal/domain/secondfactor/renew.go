package secondfactor

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// A State is what users see of their own second factor.
type State struct {
	Enrolled bool // a login needs a code
	Left     int  // recovery codes that were not used
}

// State is that of a user's second factor. It fails with [account.ErrNotFound].
func (s *Service) State(ctx context.Context, user idworker.ID) (State, error) {
	f, err := s.Store.Factor(ctx, user)
	if err != nil {
		return State{}, fmt.Errorf("secondfactor: state: %w", err)
	}
	if f.At.IsZero() {
		return State{}, nil
	}
	return State{Enrolled: true, Left: len(f.Recovery) / sha256.Size}, nil
}

// Renew makes new recovery codes in place of the old ones. The caller has checked the
// user's code, and the password in the version that user has. Renew needs no key. It
// fails with [account.ErrStale] if the password or the factor has changed meanwhile;
// then the old codes stay.
func (s *Service) Renew(ctx context.Context, by audit.Actor, user *account.User) ([]RecoveryCode, error) {
	e, err := s.event(ctx, by, audit.NeedsLogin, audit.RecoveryCodesRenewed, user, nil)
	if err != nil {
		return nil, err
	}
	codes, kept := newRecovery(user.ID)
	ok, err := s.Codes.RenewRecovery(ctx, user.ID, user.PasswordVersion, kept, e)
	if err == nil && !ok {
		err = account.ErrStale
	}
	if err != nil {
		return nil, fmt.Errorf("secondfactor: renew: %w", err)
	}
	return codes, nil
}
