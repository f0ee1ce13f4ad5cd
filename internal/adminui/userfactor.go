package adminui

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
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
	invalid, isInvalid := errors.AsType[*account.InvalidError](err)
	switch {
	case err == nil:
		v.see(usersPath+"/"+id.String(), url.Values{"done": {"factor_removed"}})
	case errors.Is(err, session.ErrUntold):
		v.see(usersPath+"/"+id.String(), url.Values{"done": {"untold"}})
	case errors.Is(err, account.ErrNotFound):
		v.message(http.StatusNotFound, v.t.NotFound)
	case isInvalid:
		v.showUser(http.StatusUnprocessableEntity, v.sentences(invalid)[0])
	default:
		v.unavailable("second factor not removed", err)
	}
}
