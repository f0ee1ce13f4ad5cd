package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

type userView struct {
	frame
	Person   operator.Person
	Logins   []loginBars
	Classes  []string // of the devices of Logins
	Roles    []option
	Problems []string
	Audit    string
	RoleName string
	Username string // as it is, or as it was sent
	Aliases  string // in lines
	Was, Had string // what the page has shown of both
	Open     *openLinks
	Keys     *serviceKeys
	acts     bool
}

func (u *UI) showUser(q *request) { q.showUser(http.StatusOK) }

func (q *request) showUser(status int, problems ...string) {
	id, ok := q.id()
	if !ok {
		return
	}
	p, err := q.u.People.Users.Get(q.r.Context(), id)
	chosen := p.Role
	if q.form == "role" {
		chosen = account.Role(q.sent.Get("role"))
	}
	switch {
	case errors.Is(err, account.ErrNotFound):
		q.message(http.StatusNotFound, q.t.message("no_user"))
		return
	case err != nil:
		q.unavailable("user", err)
		return
	}
	open, ok := q.openLinks(&p.User)
	if !ok {
		return
	}
	view := userView{
		frame: q.frame(p.Username, usersPath), Person: p, Roles: q.roles(chosen), RoleName: q.t.Name("role", string(p.Role)),
		Problems: problems, Audit: auditPath + "?target=" + id.String(), Open: open, acts: q.u.Impersonation,
	}
	view.Username, view.Aliases = p.Username, strings.Join(p.Aliases, "\n")
	view.Was, view.Had = view.Username, view.Aliases
	if q.form == "names" {
		view.Username, view.Aliases, view.Was, view.Had = q.sent.Get("username"), q.sent.Get("aliases"), q.sent.Get("was"), q.sent.Get("had")
	}
	if view.Keys, ok = q.serviceKeys(&p.User, view.frame); !ok {
		return
	}
	view.Back = userPath(id)
	view.Bad = len(problems) > 0
	for i := range p.Logins {
		if p.Logins[i].Act == 0 {
			view.Classes = append(view.Classes, p.Logins[i].Device.ClassName())
		}
		bars := q.bars(&p.Logins[i])
		bars.Mine = bars.ID == idworker.ID(q.who.SessionID)
		view.Logins = append(view.Logins, bars)
	}
	slices.Sort(view.Classes)
	view.Classes = slices.Compact(view.Classes)
	q.render(status, "user", view)
}

// id is the one in the path. It answers the request if there is none.
func (q *request) id() (idworker.ID, bool) {
	id, err := idworker.ParseID(q.r.PathValue("id"))
	if err != nil {
		q.message(http.StatusNotFound, q.t.message("no_user"))
		return 0, false
	}
	return id, true
}

func userPath(id idworker.ID) string { return usersPath + "/" + id.String() }

// onUser is act, for a form about the user in the path.
func (u *UI) onUser(h func(*request, idworker.ID, url.Values)) func(*request) {
	return u.adminForm(func(q *request, form url.Values) {
		if id, ok := q.id(); ok {
			h(q, id, form)
		}
	})
}

// changeUser changes the role, or disables or enables.
func (u *UI) changeUser(q *request, id idworker.ID, form url.Values) {
	c := operator.UserChange{Reason: typed(form, "reason")}
	done := form.Get("do")
	switch done {
	case "role":
		c.Role = new(account.Role(form.Get("role")))
	case "disabled", "enabled":
		c.Disabled = new(done == "disabled")
	case "names":
		u.changeNames(q, id, form)
		return
	default:
		q.message(http.StatusBadRequest, q.t.message("bad_request"))
		return
	}
	ok, err := q.withProof(form, done, q.showUser, func() error {
		_, _, err := u.People.Users.Change(q.r.Context(), q.operator(), id, c)
		return err
	})
	if ok {
		q.userChanged(id, done, "user changed", err)
	}
}

// changeNames changes the username and the aliases, of which there is one in each line.
func (u *UI) changeNames(q *request, id idworker.ID, form url.Values) {
	name, c := typed(form, "username"), operator.NameChange{Reason: typed(form, "reason")}
	// What the page has shown may be old: only what was changed there is asked for.
	if name != form.Get("was") {
		c.Username = &name
	}
	had, has := strings.Fields(form.Get("had")), strings.Fields(form.Get("aliases"))
	in := func(list []string) func(string) bool { return func(s string) bool { return slices.Contains(list, s) } }
	c.AddAliases, c.RemoveAliases = slices.DeleteFunc(slices.Clone(has), in(had)), slices.DeleteFunc(had, in(has))
	ok, err := q.withProof(form, "names", q.showUser, func() error {
		_, err := u.People.Names.ChangeNames(q.r.Context(), q.operator(), id, c)
		return err
	})
	wrong, isWrong := errors.AsType[*invalid.Error](err)
	switch {
	case !ok:
	case isWrong:
		q.showUser(http.StatusUnprocessableEntity, q.namesWrong(wrong, form.Get("aliases"))...)
	default:
		q.userChanged(id, "names", "names not changed", err)
	}
}

// namesWrong is what is wrong with names, in sentences. What is no alias is named by its
// line, for no sentence repeats what was typed.
func (q *request) namesWrong(e *invalid.Error, aliases string) (all []string) {
	for i, line := range strings.Split(aliases, "\n") {
		for _, alias := range strings.Fields(line) {
			_, err := account.NormalizeAlias(alias)
			if bad, is := errors.AsType[*invalid.Error](err); is {
				all = append(all, q.t.Text("users.alias_line", i+1, q.t.field(bad.Fields[0])))
				break
			}
		}
	}
	byLine := len(all) > 0
	for _, f := range e.Fields {
		if f.Field != "aliases" || !byLine { // else it is of all, such as too many
			all = append(all, q.t.field(f))
		}
	}
	return all
}

// removeFactor removes the second factor of another user, and ends the login.
func (u *UI) removeFactor(q *request, id idworker.ID, form url.Values) {
	ok, err := q.withProof(form, "factor", q.showUser, func() error {
		_, err := u.People.Factors.RemoveSecondFactor(q.r.Context(), q.operator(), id, typed(form, "reason"))
		return err
	})
	if ok {
		q.userChanged(id, "factor_removed", "second factor removed", err)
	}
}

// userChanged answers for a change of a user. done is what the page says, and what
// the log, if it is not done.
func (q *request) userChanged(id idworker.ID, done, what string, err error) {
	if errors.Is(err, session.ErrUnpublished) {
		done, err = "not_notified", nil
	}
	if err != nil {
		q.failed(what, err, q.showUser)
		return
	}
	q.redirect(userPath(id), url.Values{"done": {done}})
}

// failed answers for an act of an operator that was not done; what is what the log
// calls it.
func (q *request) failed(what string, err error, again again) {
	wrong, isWrong := errors.AsType[*invalid.Error](err)
	switch {
	case isWrong:
		again(http.StatusUnprocessableEntity, q.sentences(wrong)...)
	case errors.Is(err, account.ErrNotFound):
		q.message(http.StatusNotFound, q.t.message("no_user"))
	case errors.Is(err, account.ErrLastAdmin):
		again(http.StatusConflict, q.t.Text("users.last_admin"))
	case errors.Is(err, account.ErrExists):
		again(http.StatusConflict, q.t.Text("users.taken"))
	case errors.Is(err, account.ErrAliasTaken):
		again(http.StatusConflict, q.t.Text("users.alias_taken"))
	case errors.Is(err, account.ErrBusy):
		again(http.StatusServiceUnavailable, q.t.Text("login.busy"))
	default:
		q.unavailable("not done: "+what, err)
	}
}

// loginBars are how much is left of a login.
type loginBars struct {
	session.Login
	Kind                   string  // of device, in words
	Mine                   bool    // it is the one that looks
	Idle, Absolute         float64 // what is left, of a hundred
	IdleLeft, AbsoluteLeft string
}

// device is the class of a device in words.
func (t *texts) device(d *session.Device) string { return t.Name("device", d.ClassName()) }

// kind is what a login is on, or who acts by it.
func (q *request) kind(l *session.Login) string {
	if l.Act != 0 {
		return q.t.Text("act.support", l.Act.String())
	}
	return q.t.device(l.Device)
}

func (q *request) bars(l *session.Login) loginBars {
	now := q.u.Now()
	left := func(begin, end time.Time) float64 {
		if !end.After(begin) {
			return 0
		}
		return min(max(100*float64(end.Sub(now))/float64(end.Sub(begin)), 0), 100)
	}
	return loginBars{
		Login: *l, Kind: q.kind(l), Idle: left(l.Seen, l.IdleExpiresAt), Absolute: left(l.IssuedAt, l.ExpiresAt),
		IdleLeft: q.t.span(l.IdleExpiresAt.Sub(now)), AbsoluteLeft: q.t.span(l.ExpiresAt.Sub(now)),
	}
}
