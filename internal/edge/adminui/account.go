package adminui

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

const accountPath = "/console/account"

// Own are the verbs of people about their own accounts. *login.Service has them.
type Own interface {
	HasFactor(ctx context.Context, id idworker.ID) (bool, error)
	FactorState(ctx context.Context, id idworker.ID) (secondfactor.State, error)
	EnrolFactor(ctx context.Context, by account.Asker, id idworker.ID, current account.Password) (secondfactor.Enrolment, error)
	ConfirmFactor(ctx context.Context, id idworker.ID, code secondfactor.Code) ([]secondfactor.RecoveryCode, error)
	RenewRecovery(ctx context.Context, by account.Asker, id idworker.ID, current account.Password, code secondfactor.Code) ([]secondfactor.RecoveryCode, error)
	RemoveFactor(ctx context.Context, by account.Asker, id idworker.ID, current account.Password, code secondfactor.Code) error
	ChangePassword(ctx context.Context, by account.Asker, id idworker.ID, current, next account.Password, code secondfactor.Code) error
}

// The parts of the page, as its forms name them.
const (
	doEnrol    = "enrol"
	doConfirm  = "confirm"
	doRenew    = "renew"
	doRemove   = "remove"
	doPassword = "password"
)

// ownEvents are what the record calls them; an enrolment is none until it is
// confirmed.
var ownEvents = map[string]audit.Action{
	doConfirm: audit.SecondFactorEnrolled, doRenew: audit.RecoveryCodesRenewed, doRemove: audit.SecondFactorRemoved, doPassword: audit.PasswordChanged,
}

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
	state, err := v.u.Own.FactorState(v.r.Context(), session.UserOf(v.who))
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

// postAccount does one of five things, each of which needs a proof that counts as
// an attempt to log in.
func (u *UI) postAccount(v *visit, form url.Values) {
	do := form.Get("do")
	again := func(status int, problem string) {
		v.showAccount(status, accountView{Problem: problem, At: do, Confirm: do == doConfirm})
	}
	// Where people are who act on their own accounts is not on record.
	by := audit.From(v.r.Context())
	by.Address = ""
	ctx, id := audit.NewContext(v.r.Context(), by), session.UserOf(v.who)
	current, code := account.NewPassword(form.Get("current_password")), secondfactor.NewCode(form.Get("code"))
	if err := account.Impossible(v.who.Username, current); err != nil {
		v.unproved("own account not changed", err)
		again(v.refusal(err))
		return
	}
	if status, problem := v.heldInside(v.attempt(v.who.Username), "own account not changed"); status != 0 {
		again(status, problem)
		return
	}
	var answer func()
	var err error
	switch do {
	case doEnrol:
		var e secondfactor.Enrolment
		if e, err = u.Own.EnrolFactor(ctx, v.by, id, current); err == nil {
			answer = func() { v.showEnrolment(e) }
		}
	case doConfirm:
		var codes []secondfactor.RecoveryCode
		codes, err = u.Own.ConfirmFactor(ctx, id, code)
		answer = func() { v.showRecovery(codes) }
	case doRenew:
		var codes []secondfactor.RecoveryCode
		codes, err = u.Own.RenewRecovery(ctx, v.by, id, current, code)
		answer = func() { v.showRecovery(codes) }
	case doRemove:
		err = u.Own.RemoveFactor(ctx, v.by, id, current, code)
		answer = func() { v.see(accountPath, url.Values{"done": {"factor_removed"}}) }
	case doPassword:
		err = u.Own.ChangePassword(ctx, v.by, id, current, account.NewPassword(form.Get("new_password")), code)
		answer = func() { v.toLogin("password") }
		if errors.Is(err, session.ErrUntold) { // changed, and over everywhere within the bound
			err = nil
		}
	default:
		v.message(http.StatusBadRequest, v.t.message("bad_request"))
		return
	}
	if invalid, ok := errors.AsType[*account.InvalidError](err); ok { // the new password; the current one was right
		if !errors.Is(err, secondfactor.ErrUnchecked) {
			v.proved(id)
		}
		v.showAccount(http.StatusUnprocessableEntity, accountView{Problems: v.newPassword(invalid), At: do})
		return
	}
	if err != nil {
		v.unguessed(err)
		v.unproved("own account not changed", err)
		if errors.Is(err, account.ErrBusy) {
			v.log("own account not changed", "reason", "busy", "user_id", id.String())
		}
		status, problem := v.refusal(err)
		again(status, problem)
		return
	}
	v.proved(id)
	args := []any{"what", do, "user_id", id.String()}
	if event := ownEvents[do]; event != "" {
		args = append(args, "event", string(event))
	}
	v.log("own account changed", args...)
	answer()
}

// refusal is what a person is told of an error of [Own].
func (v *visit) refusal(err error) (status int, sentence string) {
	switch {
	case errors.Is(err, account.ErrWrong):
		return http.StatusForbidden, v.t.Text("confirm.wrong")
	case errors.Is(err, secondfactor.ErrRequired):
		return http.StatusForbidden, v.t.Text("account.code_needed")
	case errors.Is(err, secondfactor.ErrInvalid):
		return http.StatusForbidden, v.t.Text("account.code_wrong")
	case errors.Is(err, account.ErrShort):
		return http.StatusConflict, v.t.Text("account.too_short_to_remove")
	case errors.Is(err, secondfactor.ErrOff):
		return http.StatusForbidden, v.t.Text("account.off")
	case errors.Is(err, secondfactor.ErrEnrolled):
		return http.StatusConflict, v.t.Text("account.already")
	case errors.Is(err, secondfactor.ErrNotEnrolled):
		return http.StatusConflict, v.t.Text("account.none")
	case errors.Is(err, account.ErrBusy):
		return http.StatusServiceUnavailable, v.t.Text("login.busy")
	case errors.Is(err, secondfactor.ErrSealed):
		v.uncheckable("own account", err)
		return http.StatusServiceUnavailable, v.t.Text("account.sealed")
	}
	if v.r.Context().Err() == nil {
		v.u.Log.ErrorContext(v.r.Context(), "console: own account", "err", err, "request_id", v.w.Header().Get(requestIDHeader))
	}
	return http.StatusServiceUnavailable, v.t.Text("login.failed")
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
