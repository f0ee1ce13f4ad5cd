package console

import (
	"errors"
	"net/http"

	"github.com/flakepass/flakepass/internal/domain/account"
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
func (v *visit) passwordFrame() frame {
	f := v.frame(v.t.Text("reset.title"), passwordPath, "setup.js")
	f.Back = ""
	return f
}

// showPassword shows the form. The token is not in the request: it is in the
// fragment of the link, from where a script puts it into the form, or is typed.
func (u *UI) showPassword(v *visit) {
	v.hideReferrer()
	v.render(http.StatusOK, "password", passwordView{frame: v.passwordFrame()})
}

// postPassword sets the password of whoever has the token. Nobody is logged in
// by it.
func (u *UI) postPassword(v *visit) {
	v.hideReferrer()
	// As for the link to make the first admin: no other site knows the token.
	if err := u.checkSetupOrigin(v.r); err != nil {
		v.message(http.StatusForbidden, v.t.message("cross_origin"))
		return
	}
	form, status := readForm(v.w, v.r)
	if status != 0 {
		v.message(status, v.t.refused(status))
		return
	}
	token, err := account.ParseResetToken(typed(form, "reset_token"))
	page := passwordView{link: token}
	if err == nil && form.Get("password") != form.Get("password_again") {
		page.PasswordProblems = []string{v.t.Text("reset.differ")}
		v.passwordAgain(http.StatusUnprocessableEntity, page)
		return
	}
	if err = u.Own.SetByLink(v.r.Context(), v.client(), typed(form, "reset_token"), account.NewPassword(form.Get("password"))); err != nil {
		v.passwordRefused(page, err)
		return
	}
	f := v.frame(v.t.Text("reset.done_title"), "")
	f.Back = ""
	v.render(http.StatusOK, "passwordset", f)
}

// passwordRefused shows the form once more, with what is wrong and the token.
func (v *visit) passwordRefused(page passwordView, err error) {
	var status int
	var problem string
	invalid, isInvalid := errors.AsType[*account.InvalidError](err)
	switch {
	case isInvalid:
		status, page.PasswordProblems = http.StatusUnprocessableEntity, v.sentences(invalid)
		v.passwordAgain(status, page)
		return
	case errors.Is(err, account.ErrReset):
		status, problem, page.link = http.StatusForbidden, v.t.Text("reset.invalid"), account.ResetToken{}
	case errors.Is(err, account.ErrDisabled):
		status, problem = http.StatusForbidden, v.t.Text("reset.disabled")
	default:
		if status, problem = v.refusal("password not reset", err); problem == v.t.Text("login.failed") {
			problem = v.t.Text("reset.failed")
		} else if problem == v.t.Text("login.busy") {
			problem = v.t.Text("setup.busy")
		}
	}
	page.General = []string{problem}
	v.passwordAgain(status, page)
}

func (v *visit) passwordAgain(status int, page passwordView) {
	page.frame = v.passwordFrame()
	page.Bad = true
	v.render(status, "password", page)
}
