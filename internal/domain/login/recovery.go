package login

import (
	"context"
	"errors"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// FactorState is what a user is told of the own second factor. It fails with
// [account.ErrNotFound].
func (s *Service) FactorState(ctx context.Context, id idworker.ID) (secondfactor.State, error) {
	if s.Factors == nil {
		has, err := s.HasFactor(ctx, id)
		return secondfactor.State{Enrolled: has}, err
	}
	return s.Factors.State(ctx, id)
}

// RenewRecovery makes new recovery codes for a user, who has to know the password
// and to show a code, which may be one of the old ones: none of those counts then.
// It fails with [account.ErrWrong], [secondfactor.ErrNotEnrolled],
// [secondfactor.ErrRequired] or [secondfactor.ErrInvalid].
func (s *Service) RenewRecovery(ctx context.Context, by account.Asker, id idworker.ID, current account.Password, code secondfactor.Code) ([]secondfactor.RecoveryCode, error) {
	user, err := s.known(ctx, by, id, current)
	switch {
	case err != nil:
		return nil, err
	case !user.HasSecondFactor():
		return nil, secondfactor.ErrNotEnrolled
	}
	if err := s.code(ctx, &user, code); err != nil {
		return nil, err
	}
	codes, err := s.Factors.Renew(ctx, &user)
	if errors.Is(err, account.ErrStale) {
		return nil, account.ErrWrong // it was right a moment ago
	}
	return codes, err
}
