package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
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

func (u *UI) postCode(v *visit, form url.Values) {
	ticket, next := form.Get("ticket"), safePath(form.Get("next"))
	begun, err := u.Own.Finish(v.r.Context(), v.client(), account.RoleAdmin, ticket, secondfactor.NewCode(form.Get("code")))
	_, limited := errors.AsType[*ratelimit.LimitedError](err)
	switch {
	case err == nil:
		v.letIn(begun, next)
	case errors.Is(err, secondfactor.ErrInvalid), errors.Is(err, secondfactor.ErrRequired):
		v.askCode(http.StatusUnauthorized, ticket, next, v.t.Text("account.code_wrong"))
	case limited, errors.Is(err, secondfactor.ErrSealed): // the ticket is good
		status, problem := v.refusal("login", err)
		v.askCode(status, ticket, next, problem)
	default:
		status, problem := v.refusal("login", err)
		v.loginAgain(status, "", next, problem)
	}
}
