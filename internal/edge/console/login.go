package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/render"
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

func (u *UI) showLogin(q *request) {
	query := q.r.URL.Query()
	next, why := safePath(query.Get("next")), query.Get("why")
	if t, err := tokenOf(q.r); err == nil {
		if who, err := u.Sessions.Verify(q.r.Context(), t); err == nil && account.Role(who.Role) == account.RoleAdmin {
			q.redirect(next, nil)
			return
		}
	} else if errors.Is(err, flakepass.ErrMissing) && query.Has("kept") {
		why = "cookie"
	}
	view := loginView{frame: q.frame(q.t.Text("login.title"), loginPath), Why: q.t.byKey["why."+why], Next: next}
	if query.Has("lost") {
		view.Lost = q.t.Text("page.lost")
	}
	q.render(http.StatusOK, "login", view)
}

func (u *UI) postLogin(q *request, form url.Values) {
	name, next := typed(form, "username"), safePath(form.Get("next"))
	begun, err := u.Own.Login(q.r.Context(), q.client(), login.Credentials{
		Username: name, Password: account.NewPassword(form.Get("password")), Only: account.RoleAdmin,
	})
	if needs, ok := errors.AsType[*login.NeedsCodeError](err); ok {
		q.askCode(http.StatusOK, needs.Ticket.Reveal(), next, "")
		return
	}
	if q.noRoom(err, next) {
		return
	}
	if err != nil {
		status, problem := q.refusal("login", err)
		q.loginAgain(status, name, next, problem)
		return
	}
	q.finishLogin(begun, next)
}

// finishLogin sets the cookie with the token, and leads to the page by way of the
// login page, which notices if the browser did not keep the cookie.
func (q *request) finishLogin(begun login.Begun, next string) {
	setToken(q.w, begun.Token)
	q.setBrowser()
	if !begun.DeviceCredential.None() {
		setDeviceCredential(q.w, begun.DeviceCredential)
	}
	if begun.DeletionCancelled {
		next = accountPath + "?done=deletion_cancelled"
	}
	q.redirect(loginPath, url.Values{"next": {next}, "kept": {""}})
}

func (q *request) loginAgain(status int, name, next, problem string) {
	f := q.frame(q.t.Text("login.title"), loginPath)
	f.Bad = true
	q.render(status, "login", loginView{frame: f, Problem: problem, Username: name, Next: next})
}

// logout ends the login and not only the cookie.
func (u *UI) logout(q *request, _ url.Values) {
	t, err := tokenOf(q.r)
	if err == nil { // else there is no login
		err = u.Own.Logout(q.r.Context(), q.client(), t)
		if !session.Done(err) { // other instances were not notified: it ends there within the bound
			q.unavailable("logout", err)
			return
		}
	}
	q.w.Header().Set("Clear-Site-Data", `"storage"`)
	q.loggedOut("left")
}

// confirmed takes the password and the code of the admin once more, and notes in the
// login that both were shown.
func (q *request) confirmed(form url.Values) error {
	return q.u.Own.Reauthenticate(q.r.Context(), q.client(), account.NewPassword(form.Get("confirm_password")), secondfactor.NewCode(form.Get("confirm_code")))
}

const roomPath = loginPath + "/room"

// roomView asks which login ends for the one that the policy refuses.
type roomView struct {
	frame
	Logins       []loginBars
	Ticket, Next string
}

// noRoom reports whether the policy refuses a login, and then asks which one ends for it.
func (q *request) noRoom(err error, next string) bool {
	full, ok := errors.AsType[*login.NoRoomError](err)
	if !ok {
		return false
	}
	q.render(http.StatusConflict, "room", roomView{
		frame: q.frame(q.t.Text("login.title"), loginPath), Logins: render.All(full.Logins, q.bars), Ticket: full.Ticket.Reveal(), Next: next,
	})
	return true
}

// postRoom ends the login that was chosen, and begins the one that was refused.
func (u *UI) postRoom(q *request, form url.Values) {
	next := safePath(form.Get("next"))
	end, err := idworker.ParseID(form.Get("end"))
	if err != nil {
		q.message(http.StatusBadRequest, q.t.message("bad_request"))
		return
	}
	begun, err := u.Own.Instead(q.r.Context(), q.client(), account.RoleAdmin, form.Get("ticket"), end)
	switch {
	case q.noRoom(err, next):
	case errors.Is(err, secondfactor.ErrTicket):
		q.loginAgain(http.StatusUnauthorized, "", next, q.t.Text("account.ticket_over"))
	case err != nil:
		status, problem := q.refusal("login", err)
		q.loginAgain(status, "", next, problem)
	default:
		q.finishLogin(begun, next)
	}
}
