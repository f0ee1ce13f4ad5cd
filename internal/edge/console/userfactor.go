package console

import (
	"context"
	"net/url"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Factors removes the second factor of somebody who has lost it, and ends the
// login. It fails with [account.ErrNotFound].
type Factors interface {
	RemoveSecondFactor(ctx context.Context, by audit.Actor, user idworker.ID, reason string) (session.Session, error)
}

func (u *UI) removeFactor(v *visit, form url.Values) {
	id, ok := v.id()
	if !ok {
		return
	}
	ok, err := v.withProof(form, "factor", v.showUser, func() error {
		_, err := u.Factors.RemoveSecondFactor(v.r.Context(), v.operator(), id, typed(form, "reason"))
		return err
	})
	if ok {
		v.userChanged(id, "factor_removed", "second factor removed", err)
	}
}
