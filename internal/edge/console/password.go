package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// passwordView is what password.html shows. The passphrase is not in it, so it
// cannot come back.
type passwordView struct {
	frame
	General          []string // problems that belong to no field
	PasswordProblems []string
	link             account.ResetToken
}

// Token is the secret, for the field that sends it on and nothing else.
func (v passwordView) Token() string { return v.link.Reveal() }

// passwordFrame has no switch for the language, which would lose the token.
func (q *request) passwordFrame() frame {
	f := q.frame(q.t.Text("reset.title"), passwordPath, "setup.js")
	f.Back = ""
	return f
}

// showPassword shows the form. The token is not in the request: it is in the
// fragment of the link, from where a script puts it into the form, or is typed.
func (u *UI) showPassword(q *request) {
	q.hideReferrer()
	q.render(http.StatusOK, "password", passwordView{frame: q.passwordFrame()})
}

// postPassword sets the password of the user whom the token is for. It starts no
// login.
func (u *UI) postPassword(q *request, form url.Values) {
	token, err := account.ParseResetToken(typed(form, "reset_token"))
	page := passwordView{link: token}
	if err == nil && form.Get("password") != form.Get("password_again") {
		page.PasswordProblems = []string{q.t.Text("reset.differ")}
		q.passwordAgain(http.StatusUnprocessableEntity, page)
		return
	}
	if err = u.Own.SetByLink(q.r.Context(), q.client(), typed(form, "reset_token"), account.NewPassword(form.Get("password"))); err != nil {
		q.passwordRefused(page, err)
		return
	}
	f := q.frame(q.t.Text("reset.done_title"), "")
	f.Back = ""
	q.render(http.StatusOK, "passwordset", f)
}

// passwordRefused shows the form once more, with what is wrong and the token.
func (q *request) passwordRefused(page passwordView, err error) {
	var status int
	var problem string
	wrong, isInvalid := errors.AsType[*invalid.Error](err)
	switch {
	case isInvalid:
		status, page.PasswordProblems = http.StatusUnprocessableEntity, q.sentences(wrong)
		q.passwordAgain(status, page)
		return
	case errors.Is(err, account.ErrReset):
		status, problem, page.link = http.StatusForbidden, q.t.Text("reset.invalid"), account.ResetToken{}
	case errors.Is(err, account.ErrDisabled):
		status, problem = http.StatusForbidden, q.t.Text("reset.disabled")
	default:
		if status, problem = q.refusal("password not reset", err); problem == q.t.Text("login.failed") {
			problem = q.t.Text("reset.failed") // the answer to the change may be what was lost
		} else if problem == q.t.Text("login.busy") {
			problem = q.t.Text("setup.busy")
		}
	}
	page.General = []string{problem}
	q.passwordAgain(status, page)
}

func (q *request) passwordAgain(status int, page passwordView) {
	page.frame = q.passwordFrame()
	page.Bad = true
	q.render(status, "password", page)
}
