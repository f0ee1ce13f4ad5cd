package console

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/render"
)

const accountPath = "/console/account"

// The parts of the page, as its forms name them.
const (
	doEnrol    = "enrol"
	doConfirm  = "confirm"
	doRenew    = "renew"
	doRemove   = "remove"
	doPassword = "password"

	doEndDevice = "end_device"
	doEndOthers = "end_others"
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
	Left     string   // how many recovery codes there are, in words; empty if it is not known

	Devices devicesView
	Me      string
	grace   time.Duration
}

// AtFactor reports whether the problem is with the second factor.
func (v accountView) AtFactor() bool { return v.At != doPassword && !v.AtDevices() && !v.AtDeletion() }

// AtDevices reports whether the problem is with the logins.
func (v accountView) AtDevices() bool { return v.At == doEndDevice || v.At == doEndOthers }

func (u *UI) showAccount(q *request) { q.showAccount(http.StatusOK, accountView{}) }

func (q *request) showAccount(status int, view accountView) {
	view.frame = q.frame(q.t.Text("account.title"), accountPath)
	if view.Confirm || len(view.Recovery) > 0 {
		view.Back = "" // another language would have to make another secret, or other codes
	}
	view.Bad = view.Problem != "" || len(view.Problems) > 0
	view.Me, view.grace = q.who.Username, q.u.Own.Grace
	view.Must = q.u.AdminsNeedFactor && !q.factor
	if q.factor && len(view.Recovery) == 0 {
		view.Left = q.codesLeft()
	}
	if len(view.Recovery) == 0 {
		view.Devices = q.devices()
	}
	q.render(status, "account", view)
}

// codesLeft says how many recovery codes there are. The page does without if
// that cannot be known: the form for new ones is there in any case.
func (q *request) codesLeft() string {
	state, err := q.u.FactorStates.State(q.r.Context(), session.UserOf(q.who))
	switch {
	case err != nil || !state.Enrolled:
		return ""
	case state.Left == 0:
		return q.t.Text("account.left_none")
	case state.Left == 1:
		return q.t.Text("account.left_one")
	}
	return q.t.Text("account.left", state.Left)
}

// postAccount does one of eight things, each of which needs a proof.
func (u *UI) postAccount(q *request, form url.Values) {
	ctx, c, do := q.r.Context(), q.client(), form.Get("do")
	current, code := account.NewPassword(form.Get("current_password")), secondfactor.NewCode(form.Get("code"))
	var answer func()
	var err error
	switch do {
	case doEnrol:
		var e secondfactor.Enrolment
		e, err = u.Own.BeginFactor(ctx, c, current)
		answer = func() { q.showEnrolment(e) }
	case doConfirm:
		var codes []secondfactor.RecoveryCode
		codes, err = u.Own.ConfirmFactor(ctx, c, code)
		answer = func() { q.showRecovery(codes) }
	case doRenew:
		var codes []secondfactor.RecoveryCode
		codes, err = u.Own.RenewRecovery(ctx, c, current, code)
		answer = func() { q.showRecovery(codes) }
	case doRemove:
		err = u.Own.RemoveFactor(ctx, c, current, code)
		answer = func() { q.redirect(accountPath, url.Values{"done": {"factor_removed"}}) }
	case doPassword:
		err = u.Own.ChangePassword(ctx, c, current, account.NewPassword(form.Get("new_password")), code)
		answer = func() { q.loggedOut("password") }
	case doEndDevice, doEndOthers:
		u.logoutDevices(q, form, do)
		return
	case doDelete:
		u.deleteMe(q, form)
		return
	default:
		q.message(http.StatusBadRequest, q.t.message("bad_request"))
		return
	}
	if err == nil {
		answer()
		return
	}
	if wrong, ok := errors.AsType[*invalid.Error](err); ok { // the new password
		q.showAccount(http.StatusUnprocessableEntity, accountView{Problems: q.sentences(wrong), At: do})
		return
	}
	if q.answerRefusal(err) {
		return
	}
	status, problem, known := q.knownRefusal("own account", err)
	if !known { // the change may have been made
		q.unavailable("own account", err)
		return
	}
	q.showAccount(status, accountView{Problem: problem, At: do, Confirm: do == doConfirm})
}

// showEnrolment shows the secret, this once: as a picture, and as text for apps
// without a camera.
func (q *request) showEnrolment(e secondfactor.Enrolment) {
	picture, err := e.URI.Picture()
	if err != nil {
		q.unavailable("picture of a second factor", err)
		return
	}
	q.showAccount(http.StatusOK, accountView{Confirm: true, Picture: picture, Secret: fours(e.Secret.Reveal())})
}

func (q *request) showRecovery(codes []secondfactor.RecoveryCode) {
	q.factor = true
	q.showAccount(http.StatusOK, accountView{Recovery: render.All(codes, (*secondfactor.RecoveryCode).Reveal)})
}

// fours puts a space after every fourth letter.
func fours(s string) string {
	return string(bytes.Join(slices.Collect(slices.Chunk([]byte(s), 4)), []byte(" ")))
}
