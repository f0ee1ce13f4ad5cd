package console

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

type userView struct {
	frame
	Person   operator.Person
	Login    loginBars
	Roles    []option
	Problem  string
	Mine     bool // the login is the one that looks
	Resets   bool // there are one-time links
	Audit    string
	RoleName string
	Factors  bool // second factors can be removed
	Open     *openLinks
}

func (u *UI) showUser(v *visit) { v.showUser(http.StatusOK, "") }

func (v *visit) showUser(status int, problem string) {
	id, ok := v.id()
	if !ok {
		return
	}
	p, err := v.u.People.Get(v.r.Context(), id)
	chosen := p.Role
	if v.asks == "role" {
		chosen = account.Role(v.sent.Get("role"))
	}
	switch {
	case errors.Is(err, account.ErrNotFound):
		v.message(http.StatusNotFound, v.t.message("not_found"))
		return
	case err != nil:
		v.unavailable("user", err)
		return
	}
	open, ok := v.openLinks(&p.User)
	if !ok {
		return
	}
	view := userView{
		frame: v.frame(p.Username, usersPath), Person: p, Roles: v.roles(chosen), RoleName: v.t.Name("role", string(p.Role)),
		Problem: problem, Audit: auditPath + "?target=" + id.String(), Mine: p.ID == session.UserOf(v.who), Resets: v.u.Resets != nil, Factors: v.u.Factors != nil, Open: open,
	}
	view.Back = usersPath + "/" + id.String()
	view.Bad = problem != ""
	if p.Login.ID != 0 {
		view.Login = v.bars(&p.Login)
	}
	v.render(status, "user", view)
}

// id is the one in the path. It answers the request if there is none.
func (v *visit) id() (idworker.ID, bool) {
	id, err := idworker.ParseID(v.r.PathValue("id"))
	if err != nil {
		v.message(http.StatusNotFound, v.t.message("not_found"))
		return 0, false
	}
	return id, true
}

// changeUser changes the role, or disables or enables.
func (u *UI) changeUser(v *visit, form url.Values) {
	id, ok := v.id()
	if !ok {
		return
	}
	c := operator.UserChange{Reason: typed(form, "reason")}
	done := form.Get("do")
	switch done {
	case "role":
		role := account.Role(form.Get("role"))
		c.Role = &role
	case "disabled", "enabled":
		disabled := done == "disabled"
		c.Disabled = &disabled
	default:
		v.message(http.StatusBadRequest, v.t.message("bad_request"))
		return
	}
	ok, err := v.withProof(form, done, v.showUser, func() error {
		_, _, err := u.People.Change(v.r.Context(), v.operator(), id, c)
		return err
	})
	if ok {
		v.userChanged(id, done, "user changed", err)
	}
}

// userChanged answers for a change of a user. done is what the page says, and what
// the log, if it is not done.
func (v *visit) userChanged(id idworker.ID, done, what string, err error) {
	invalid, isInvalid := errors.AsType[*account.InvalidError](err)
	switch {
	case err == nil:
		v.see(usersPath+"/"+id.String(), url.Values{"done": {done}})
	case errors.Is(err, session.ErrUntold):
		v.see(usersPath+"/"+id.String(), url.Values{"done": {"untold"}})
	case errors.Is(err, account.ErrLastAdmin):
		v.showUser(http.StatusConflict, v.t.Text("users.last_admin"))
	case errors.Is(err, account.ErrNotFound):
		v.message(http.StatusNotFound, v.t.message("not_found"))
	case isInvalid:
		v.showUser(http.StatusUnprocessableEntity, v.sentences(invalid)[0])
	default:
		v.unavailable("not done: "+what, err)
	}
}

// loginBars are how much is left of a login.
type loginBars struct {
	operator.Login
	Idle, Absolute         float64 // what is left, of a hundred
	IdleLeft, AbsoluteLeft string
}

func (v *visit) bars(l *operator.Login) loginBars {
	now := v.u.Now()
	left := func(begin, end time.Time) float64 {
		if !end.After(begin) {
			return 0
		}
		return min(max(100*float64(end.Sub(now))/float64(end.Sub(begin)), 0), 100)
	}
	return loginBars{
		*l, left(l.Seen, l.IdleExpiresAt), left(l.IssuedAt, l.ExpiresAt),
		v.t.span(l.IdleExpiresAt.Sub(now)), v.t.span(l.ExpiresAt.Sub(now)),
	}
}
