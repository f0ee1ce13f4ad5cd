package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

const accountPath = "/console/account"

// FactorStates says what people are told of their own second factors.
// *secondfactor.Service does.
type FactorStates interface {
	State(ctx context.Context, user idworker.ID) (secondfactor.State, error)
}

// The parts of the page, as its forms name them.
const (
	doEnrol    = "enrol"
	doConfirm  = "confirm"
	doRenew    = "renew"
	doRemove   = "remove"
	doPassword = "password"
)

type accountView struct {
	frame
	Must     bool   // nothing else can be done before there is a second factor
	Problem  string // a sentence; may be empty
	At       string // the part that the problem is with
	Problems []string

	Confirm  bool // a secret waits for its first code
	Picture  secondfactor.Picture
	Secret   string   // in groups of four
	Recovery []string // shown once
	Left     string   // how many recovery codes there are, in words; empty if nobody can say
}

func (u *UI) showAccount(v *visit) { v.showAccount(http.StatusOK, accountView{}) }

func (v *visit) showAccount(status int, view accountView) {
	view.frame = v.frame(v.t.Text("account.title"), accountPath)
	view.Bad = view.Problem != "" || len(view.Problems) > 0
	view.Must = v.u.AdminsNeedFactor && !v.factor
	if v.factor && len(view.Recovery) == 0 {
		view.Left = v.codesLeft()
	}
	v.render(status, "account", view)
}

// codesLeft says how many recovery codes there are. The page does without if
// that cannot be known: the form for new ones is there in any case.
func (v *visit) codesLeft() string {
	state, err := v.u.FactorStates.State(v.r.Context(), session.UserOf(v.who))
	switch {
	case err != nil || !state.Enrolled:
		return ""
	case state.Left == 0:
		return v.t.Text("account.left_none")
	case state.Left == 1:
		return v.t.Text("account.left_one")
	}
	return v.t.Text("account.left", state.Left)
}

// postAccount does one of five things, each of which needs a proof.
func (u *UI) postAccount(v *visit, form url.Values) {
	ctx, c, do := v.r.Context(), v.client(), form.Get("do")
	current, code := account.NewPassword(form.Get("current_password")), secondfactor.NewCode(form.Get("code"))
	var answer func()
	var err error
	switch do {
	case doEnrol:
		var e secondfactor.Enrolment
		e, err = u.Own.EnrolFactor(ctx, c, current)
		answer = func() { v.showEnrolment(e) }
	case doConfirm:
		var codes []secondfactor.RecoveryCode
		codes, err = u.Own.ConfirmFactor(ctx, c, code)
		answer = func() { v.showRecovery(codes) }
	case doRenew:
		var codes []secondfactor.RecoveryCode
		codes, err = u.Own.RenewRecovery(ctx, c, current, code)
		answer = func() { v.showRecovery(codes) }
	case doRemove:
		err = u.Own.RemoveFactor(ctx, c, current, code)
		answer = func() { v.see(accountPath, url.Values{"done": {"factor_removed"}}) }
	case doPassword:
		err = u.Own.ChangePassword(ctx, c, current, account.NewPassword(form.Get("new_password")), code)
		answer = func() { v.toLogin("password") }
	default:
		v.message(http.StatusBadRequest, v.t.message("bad_request"))
		return
	}
	if err == nil {
		answer()
		return
	}
	if invalid, ok := errors.AsType[*account.InvalidError](err); ok { // the new password
		v.showAccount(http.StatusUnprocessableEntity, accountView{Problems: v.newPassword(invalid), At: do})
		return
	}
	status, problem := v.refusal("own account", err)
	v.showAccount(status, accountView{Problem: problem, At: do, Confirm: do == doConfirm})
}

// newPassword says what is wrong with one. Beside a second factor fewer
// characters are enough.
func (v *visit) newPassword(e *account.InvalidError) []string {
	all := v.sentences(e)
	for i, f := range e.Fields {
		if v.factor && f.Code == account.CodeTooShort {
			all[i] = v.t.Text("account.short_beside")
		}
	}
	return all
}

// showEnrolment shows the secret, this once: as a picture, and as text for apps
// without a camera.
func (v *visit) showEnrolment(e secondfactor.Enrolment) {
	picture, err := e.URI.Picture()
	if err != nil {
		v.unavailable("picture of a second factor", err)
		return
	}
	v.showAccount(http.StatusOK, accountView{Confirm: true, Picture: picture, Secret: fours(e.Secret.Reveal())})
}

func (v *visit) showRecovery(codes []secondfactor.RecoveryCode) {
	v.factor = true
	view := accountView{}
	for _, c := range codes {
		view.Recovery = append(view.Recovery, c.Reveal())
	}
	v.showAccount(http.StatusOK, view)
}

// fours puts a space after every fourth letter.
func fours(s string) string {
	var out []byte
	for i := range len(s) {
		if i > 0 && i%4 == 0 {
			out = append(out, ' ')
		}
		out = append(out, s[i])
	}
	return string(out)
}
