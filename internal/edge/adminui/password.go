package adminui

import (
	"errors"
	"net/http"
	"net/netip"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/admin"
	"github.com/flakepass/flakepass/internal/domain/audit"
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
	from, _ := netip.ParseAddr(u.address(v.r)) // all who have none count together
	ctx := audit.NewContext(v.r.Context(), audit.Actor{Via: audit.ViaConsole, RequestID: v.w.Header().Get(requestIDHeader)})
	// What is no token counts as well: so many attempts, whatever they are.
	user, held, err := u.Resets.UseReset(ctx, from, token, account.NewPassword(form.Get("password")))
	switch {
	case held.For > 0:
		v.sight("password not reset", audit.Sighting{Action: audit.ResetRefused, Reason: held.reason()})
		page.General = []string{v.limited(held)}
		v.passwordAgain(http.StatusTooManyRequests, page)
	case done(err):
		v.log("password reset", "user_id", user.String(), "event", string(audit.ResetUsed))
		f := v.frame(v.t.Text("reset.done_title"), "")
		f.Back = ""
		v.render(http.StatusOK, "passwordset", f)
	default:
		v.passwordRefused(page, err)
	}
}

// passwordRefused shows the form once more, with what is wrong and the token.
func (v *visit) passwordRefused(page passwordView, err error) {
	status, reason := http.StatusForbidden, ""
	invalid, isInvalid := errors.AsType[*account.InvalidError](err)
	switch {
	case isInvalid:
		status, page.PasswordProblems = http.StatusUnprocessableEntity, v.sentences(invalid)
	case errors.Is(err, account.ErrReset):
		page.General, page.link, reason = []string{v.t.Text("reset.invalid")}, account.ResetToken{}, "reset_token_invalid"
	case errors.Is(err, account.ErrDisabled):
		page.General, reason = []string{v.t.Text("reset.disabled")}, "account_disabled"
	default:
		status, page.General = http.StatusServiceUnavailable, []string{v.t.Text("reset.failed")}
		v.w.Header().Set("Retry-After", retryAfter)
		if errors.Is(err, account.ErrBusy) {
			page.General = []string{v.t.Text("setup.busy")}
			v.undecided("password not reset", "busy", err)
		} else if v.r.Context().Err() == nil {
			v.u.Log.ErrorContext(v.r.Context(), "console: password not reset", "err", err)
		}
	}
	if reason != "" {
		n, args := about(err)
		n.Action, n.Reason = audit.ResetRefused, admin.RefusedReset(reason, err)
		v.sight("password not reset", n, args...)
	}
	v.passwordAgain(status, page)
}

func (v *visit) passwordAgain(status int, page passwordView) {
	page.frame = v.passwordFrame()
	page.Bad = true
	v.render(status, "password", page)
}
