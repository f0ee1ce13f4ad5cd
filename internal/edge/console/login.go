package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

const (
	homePath   = "/console/"
	loginPath  = "/console/login"
	logoutPath = "/console/logout"
)

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

func (u *UI) postLogin(v *visit, form url.Values) {
	name, next := typedName(form), safePath(form.Get("next"))
	begun, err := u.Own.Login(v.r.Context(), v.client(), login.Credentials{
		Username: name, Password: account.NewPassword(form.Get("password")), Only: account.RoleAdmin,
	})
	if needs, ok := errors.AsType[*login.NeedsCodeError](err); ok {
		v.askCode(http.StatusOK, needs.Ticket.Reveal(), next, "")
		return
	}
	if err != nil {
		status, problem := v.refusal("login", err)
		v.loginAgain(status, name, next, problem)
		return
	}
	v.letIn(begun, next)
}

// letIn hands the browser its token, and shows the page by way of the login
// page, which notices if the token was not kept.
func (v *visit) letIn(begun login.Begun, next string) {
	keep(v.w, begun.Token)
	if !begun.Device.IsZero() {
		keepDevice(v.w, begun.Device)
	}
	v.see(loginPath, url.Values{"next": {next}, "kept": {""}})
}

func (v *visit) loginAgain(status int, name, next, problem string) {
	f := v.frame(v.t.Text("login.title"), loginPath)
	f.Bad = true
	v.render(status, "login", loginView{frame: f, Problem: problem, Username: name, Next: next})
}

// logout ends the login and not only the cookie.
func (u *UI) logout(v *visit, _ url.Values) {
	t, err := carried(v.r)
	if err == nil { // else nobody is logged in
		err = u.Own.Logout(v.r.Context(), v.client(), t)
		if !session.Done(err) { // untold: over everywhere within the bound
			v.unavailable("logout", err)
			return
		}
	}
	forget(v.w)
	v.w.Header().Set("Clear-Site-Data", `"storage"`)
	v.see(loginPath, url.Values{"why": {"left"}})
}

// confirmed takes the password and the code of whoever is inside once more, and notes
// in their login that both were shown. It returns what is wrong, in a sentence with
// its status, or "".
func (v *visit) confirmed(form url.Values) (status int, problem string) {
	err := v.u.Own.Reauthenticate(v.r.Context(), v.client(), account.NewPassword(form.Get("confirm_password")), secondfactor.NewCode(form.Get("confirm_code")))
	if err == nil {
		return 0, ""
	}
	return v.refusal("confirm", err)
}
