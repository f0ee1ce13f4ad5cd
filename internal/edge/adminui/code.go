package adminui

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

const codePath = loginPath + "/code"

type codeView struct {
	frame
	Problem, Ticket, Next string
}

// askCode is the second step of a login: the password was right, and a ticket in
// the form stands for it.
func (v *visit) askCode(status int, ticket, next, problem string) {
	f := v.frame(v.t.Text("login.title"), loginPath)
	f.Bad = problem != ""
	v.render(status, "code", codeView{frame: f, Problem: problem, Ticket: ticket, Next: next})
}

// needsCode answers for a login that lacks a code only, and reports whether this
// is one.
func (v *visit) needsCode(err error, next string) bool {
	needs, ok := errors.AsType[*login.NeedsCodeError](err)
	if !ok {
		return false
	}
	v.refused("second_factor_required", err)
	v.askCode(http.StatusOK, needs.Ticket.Reveal(), next, "")
	return true
}

func (u *UI) postCode(v *visit, form url.Values) {
	ticket, next := form.Get("ticket"), safePath(form.Get("next"))
	holder, err := u.Logins.Holder(ticket)
	if err != nil {
		v.undecided("login refused", "ticket_over", err)
		v.loginAgain(http.StatusUnauthorized, "", next, v.t.Text("account.ticket_over"))
		return
	}
	// The name is that of the ticket: what a form says could be anybody. The role is
	// looked at last: whoever has a ticket counts as an admin here.
	n := audit.Sighting{Target: audit.AboutUser(holder.UserID, holder.Username), Admin: true}
	if status, problem := v.held(v.attempt(holder.Username), "login refused", n, "user_id", holder.UserID.String()); status != 0 {
		v.askCode(status, ticket, next, problem)
		return
	}
	opened, err := u.Logins.FinishAs(v.r.Context(), account.RoleAdmin, ticket, secondfactor.NewCode(form.Get("code")))
	v.unguessed(err)
	switch {
	case err == nil:
		v.proved(session.UserOf(opened.Identity))
		v.letIn(opened, next)
	case errors.Is(err, secondfactor.ErrInvalid), errors.Is(err, secondfactor.ErrRequired):
		v.refused("second_factor_invalid", err)
		v.askCode(http.StatusUnauthorized, ticket, next, v.t.Text("account.code_wrong"))
	case errors.Is(err, secondfactor.ErrSealed): // a recovery code is taken all the same
		v.uncheckable("login", err)
		v.w.Header().Set("Retry-After", retryAfter)
		v.askCode(http.StatusServiceUnavailable, ticket, next, v.t.Text("account.sealed"))
	case errors.Is(err, secondfactor.ErrTicket):
		v.undecided("login refused", "ticket_over", err)
		v.loginAgain(http.StatusUnauthorized, holder.Username, next, v.t.Text("account.ticket_over"))
	default:
		u.refuseLogin(v, holder.Username, next, err)
	}
}
