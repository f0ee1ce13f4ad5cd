package adminui

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

const (
	homePath   = "/console/"
	loginPath  = "/console/login"
	logoutPath = "/console/logout"
)

// Logins begin the logins of one role, and ask for a password once more, with a
// code where there is a second factor. *login.Service is one.
type Logins interface {
	LoginAs(ctx context.Context, by account.Asker, role account.Role, username string, p account.Password, code secondfactor.Code) (session.Opened, error)
	Reauthenticate(ctx context.Context, by account.Asker, id idworker.ID, p account.Password, code secondfactor.Code) error
	// Holder is whose attempt a ticket of a [*login.NeedsCodeError] is.
	Holder(ticket string) (secondfactor.Holder, error)
	FinishAs(ctx context.Context, role account.Role, ticket string, code secondfactor.Code) (session.Opened, error)
}

type loginView struct {
	frame
	Why, Problem   string // sentences; may be empty
	Lost           string // the same
	Username, Next string
}

func (u *UI) showLogin(v *visit) {
	q := v.r.URL.Query()
	next, why := safePath(q.Get("next")), q.Get("why")
	if t, err := carried(v.r); err == nil {
		if who, err := u.Sessions.Verify(v.r.Context(), t); err == nil && account.Role(who.Role) == account.RoleAdmin {
			v.see(next, nil)
			return
		}
	} else if errors.Is(err, flakepass.ErrMissing) && q.Has("kept") {
		why = "cookie"
	}
	view := loginView{frame: v.frame(v.t.Text("login.title"), loginPath), Why: v.t.byKey["why."+why], Next: next}
	if q.Has("lost") {
		view.Lost = v.t.Text("page.lost")
	}
	v.render(http.StatusOK, "login", view)
}

func (u *UI) postLogin(v *visit) {
	u.form(func(v *visit, form url.Values) {
		name, next := typedName(form), safePath(form.Get("next"))
		password := account.NewPassword(form.Get("password"))
		if err := account.Impossible(name, password); err != nil {
			u.refuseLogin(v, name, next, err)
			return
		}
		if status, problem := v.held(v.attempt(name), "login refused", audit.Sighting{}); status != 0 {
			v.loginAgain(status, name, next, problem)
			return
		}
		opened, err := u.Logins.LoginAs(v.r.Context(), v.by, account.RoleAdmin, name, password, secondfactor.Code{})
		if v.needsCode(err, next) {
			return
		}
		if err != nil {
			v.unguessed(err)
			u.refuseLogin(v, name, next, err)
			return
		}
		v.proved(session.UserOf(opened.Identity))
		v.letIn(opened, next)
	})(v)
}

// letIn hands the browser its token, and shows the page by way of the login
// page, which notices if the token was not kept.
func (v *visit) letIn(opened session.Opened, next string) {
	who := &opened.Identity
	args := []any{"user_id", who.UserID.String(), "session_id", who.SessionID.String(), "event", string(audit.LoginBegan)}
	if opened.Replaced != 0 {
		args = append(args, "replaced", opened.Replaced.String())
	}
	v.log("login", args...)
	keep(v.w, opened.Token)
	if v.taken != nil {
		keepDevice(v.w, v.u.Gate.NewDevice(v.taken.Attempt))
	}
	v.see(loginPath, url.Values{"next": {next}, "kept": {""}})
}

// refuseLogin shows the page once more. What was typed as the name is not
// logged: people type their password there.
func (u *UI) refuseLogin(v *visit, name, next string, err error) {
	status, problem, reason := http.StatusServiceUnavailable, v.t.Text("login.failed"), ""
	switch {
	case errors.Is(err, account.ErrWrong):
		status, problem, reason = http.StatusUnauthorized, v.t.Text("login.wrong"), "credentials_invalid"
	case errors.Is(err, login.ErrRole):
		status, problem, reason = http.StatusForbidden, v.t.Text("login.role"), "not_admin"
	case errors.Is(err, account.ErrDisabled):
		status, problem, reason = http.StatusForbidden, v.t.Text("login.disabled"), "account_disabled"
	case errors.Is(err, account.ErrShort):
		status, problem, reason = http.StatusForbidden, v.t.Text("account.reset_needed"), "password_reset_required"
	case errors.Is(err, account.ErrBusy):
		problem = v.t.Text("login.busy")
		v.undecided("login refused", "busy", err)
	case v.r.Context().Err() == nil:
		u.Log.ErrorContext(v.r.Context(), "console: login", "err", err)
	}
	if reason == "" {
		v.w.Header().Set("Retry-After", retryAfter)
	} else {
		v.refused(reason, err)
	}
	v.loginAgain(status, name, next, problem)
}

func (v *visit) loginAgain(status int, name, next, problem string) {
	f := v.frame(v.t.Text("login.title"), loginPath)
	f.Bad = true
	v.render(status, "login", loginView{frame: f, Problem: problem, Username: name, Next: next})
}

// logout ends the login and not only the cookie.
func (u *UI) logout(v *visit, _ url.Values) {
	t, err := carried(v.r)
	var ended session.Session
	if err == nil {
		ended, err = u.Sessions.Close(v.r.Context(), t)
	} else {
		err = nil // nobody is logged in
	}
	if err != nil && !errors.Is(err, session.ErrUntold) { // untold: over everywhere within the bound
		v.unavailable("logout", err)
		return
	}
	if ended.ID != 0 && !ended.Before {
		v.log("logout", "user_id", ended.UserID.String(), "session_id", ended.ID.String(), "event", string(audit.LoginLoggedOut))
	}
	forget(v.w)
	v.w.Header().Set("Clear-Site-Data", `"storage"`)
	v.see(loginPath, url.Values{"why": {"left"}})
}

// confirmed takes the password and the code of whoever is inside once more, and notes
// in their login that both were shown. It returns what is wrong, in a sentence with
// its status, or "".
func (v *visit) confirmed(form url.Values) (status int, problem string) {
	password := account.NewPassword(form.Get("confirm_password"))
	if err := account.Impossible(v.who.Username, password); err != nil {
		v.unproved("password not confirmed", err)
		return http.StatusForbidden, v.t.Text("confirm.wrong")
	}
	if status, problem := v.heldInside(v.attempt(v.who.Username), "password not confirmed"); status != 0 {
		return status, problem
	}
	err := v.u.Logins.Reauthenticate(v.r.Context(), v.by, session.UserOf(v.who), password, secondfactor.NewCode(form.Get("confirm_code")))
	v.unguessed(err)
	v.unproved("password not confirmed", err)
	switch {
	case err == nil:
		v.proved(session.UserOf(v.who))
		return 0, ""
	case errors.Is(err, account.ErrWrong), errors.Is(err, account.ErrDisabled):
		return http.StatusForbidden, v.t.Text("confirm.wrong")
	case errors.Is(err, secondfactor.ErrRequired):
		return http.StatusForbidden, v.t.Text("account.code_needed")
	case errors.Is(err, secondfactor.ErrInvalid):
		return http.StatusForbidden, v.t.Text("account.code_wrong")
	}
	v.w.Header().Set("Retry-After", retryAfter)
	switch {
	case errors.Is(err, account.ErrBusy):
		v.log("password not confirmed", "reason", "busy", "user_id", v.who.UserID.String())
		return http.StatusServiceUnavailable, v.t.Text("login.busy")
	case errors.Is(err, secondfactor.ErrSealed):
		v.uncheckable("confirm", err)
		return http.StatusServiceUnavailable, v.t.Text("account.sealed")
	}
	v.u.Log.ErrorContext(v.r.Context(), "console: confirm", "err", err)
	return http.StatusServiceUnavailable, v.t.Text("login.failed")
}
