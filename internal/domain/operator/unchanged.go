package operator

import (
	"context"
	"fmt"

	"github.com/flakepass/flakepass/internal/domain/audit"
)

// Rights says whether by has what is needed, by the same check as the transaction
// of a change, and with the same errors.
type Rights interface {
	Authorize(ctx context.Context, by audit.Actor, need audit.Need) error
}

// unchanged is asked where a verb has found that nothing is to change, and so began
// no transaction that checks the rights of by: who may not do
// something is told so, and not that it is done.
func (s *Sessions) unchanged(ctx context.Context, by audit.Actor, need audit.Need) error {
	if err := s.Rights.Authorize(ctx, by, need); err != nil {
		return fmt.Errorf("operator: check the rights: %w", err)
	}
	return nil
}
