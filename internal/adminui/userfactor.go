package adminui

import (
	"context"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/session"
)

// Factors removes the second factor of somebody who has lost it, and ends the
// login. It fails with [account.ErrNotFound].
type Factors interface {
	RemoveSecondFactor(ctx context.Context, user idworker.ID, reason string) (session.Session, error)
}

func (u *UI) removeFactor(v *visit, form url.Values) {
	id, ok := v.id()
	if !ok {
		return
	}
	if problem := v.confirmed(form); problem != "" {
		v.showUser(http.StatusForbidden, problem)
		return
	}
	_, err := u.Factors.RemoveSecondFactor(v.r.Context(), id, typed(form, "reason"))
	v.userChanged(id, "factor_removed", "second factor removed", err)
}
