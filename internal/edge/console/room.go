package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

const roomPath = loginPath + "/room"

// roomView asks which login ends for the one that the policy refuses.
type roomView struct {
	frame
	Logins       []loginBars
	Ticket, Next string
}

// noRoom reports whether the policy refuses a login, and then asks which one ends for it.
func (q *request) noRoom(err error, next string) bool {
	full, ok := errors.AsType[*login.NoRoomError](err)
	if !ok {
		return false
	}
	view := roomView{frame: q.frame(q.t.Text("login.title"), loginPath), Ticket: full.Ticket.Reveal(), Next: next}
	for i := range full.Logins {
		view.Logins = append(view.Logins, q.bars(&full.Logins[i]))
	}
	q.render(http.StatusConflict, "room", view)
	return true
}

// postRoom ends the login that was chosen, and begins the one that was refused.
func (u *UI) postRoom(q *request, form url.Values) {
	next := safePath(form.Get("next"))
	end, err := idworker.ParseID(form.Get("end"))
	if err != nil {
		q.message(http.StatusBadRequest, q.t.message("bad_request"))
		return
	}
	begun, err := u.Own.Instead(q.r.Context(), q.client(), account.RoleAdmin, form.Get("ticket"), end)
	switch {
	case q.noRoom(err, next):
	case errors.Is(err, secondfactor.ErrTicket):
		q.loginAgain(http.StatusUnauthorized, "", next, q.t.Text("account.ticket_over"))
	case err != nil:
		status, problem := q.refusal("login", err)
		q.loginAgain(status, "", next, problem)
	default:
		q.finishLogin(begun, next)
	}
}
