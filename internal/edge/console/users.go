package console

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/edge/render"
)

const (
	usersPath  = "/console/users"
	loginsPath = "/console/logins"
	listPage   = 25
)

type usersView struct {
	frame
	Prefix   string
	Users    []account.User
	Next     string // the URL of the next page; empty if this is the last
	First    string // of the first; empty on it
	New      newUser
	Problems []string
	Roles    []option
}

// newUser is what was typed to make one; the passphrase does not come back.
type newUser struct {
	Username, Reason string
	ByLink           bool // it gets a one-time link to set one
	Life             time.Duration
}

func (u *UI) showUsers(q *request) { q.showUsers(http.StatusOK, usersView{}) }

func (q *request) showUsers(status int, view usersView) {
	view.frame = q.frame(q.t.Text("users.title"), usersPath)
	view.Bad = len(view.Problems) > 0
	if view.Roles == nil {
		view.Roles = q.roles(account.RoleUser)
	}
	after := ""
	if at := q.r.URL.Query(); q.r.Method != http.MethodPost {
		view.Prefix, after = typed(at, "name"), at.Get("after")
	}
	if after != "" {
		view.First = linkTo(usersPath, "name", view.Prefix)
	}
	users, err := q.u.People.Users.List(q.r.Context(), view.Prefix, after, listPage+1)
	if _, ok := errors.AsType[*invalid.Error](err); ok {
		q.message(http.StatusBadRequest, message{Title: q.t.Text("users.title"), Lines: []string{q.t.Text("audit.bad_cursor")}})
		return
	}
	if err != nil {
		q.unavailable("users", err)
		return
	}
	view.Users = firstPage(users, listPage, func(last *account.User) {
		view.Next = linkTo(usersPath, "after", operator.UserCursor(view.Prefix, last), "name", view.Prefix)
	})
	q.render(status, "users", view)
}

// roles are all, and which one is chosen.
func (q *request) roles(chosen account.Role) (all []option) {
	for _, r := range []account.Role{account.RoleUser, account.RoleService, account.RoleAdmin} {
		all = append(all, option{string(r), q.t.Name("role", string(r)), r == chosen})
	}
	return all
}

// createUser makes an account. A passphrase that was typed for it does not come back,
// where the page is shown once more.
func (u *UI) createUser(q *request, form url.Values) {
	role := account.Role(form.Get("role"))
	in := newUser{Username: typed(form, "username"), Reason: typed(form, "reason"), ByLink: form.Get("by") == "link"}
	if in.ByLink {
		var ok bool
		if in.Life, ok = q.readLife(form); !ok {
			return
		}
	}
	again := func(status int, problems ...string) {
		q.showUsers(status, usersView{New: in, Problems: problems, Roles: q.roles(role)})
	}
	var user account.User
	var started operator.StartedReset
	ok, err := q.withProof(form, "create", again, func() (err error) {
		if in.ByLink {
			user, started, err = u.People.Resets.Invite(q.r.Context(), q.operator(), in.Username, role, in.Life, in.Reason)
		} else {
			user, err = u.People.Users.Create(q.r.Context(), q.operator(), in.Username, account.NewPassword(form.Get("password")), role, in.Reason)
		}
		return err
	})
	if !ok {
		return
	}
	switch {
	case err != nil:
		q.failed("user created", err, again)
	case in.ByLink:
		q.showGiven(&user, started, q.t.Text("done.created"))
	default:
		q.redirect(userPath(user.ID), url.Values{"done": {"created"}})
	}
}

// Lives are the choices of how long the link of a new user works.
func (v usersView) Lives() []option {
	if v.New.Life == 0 {
		return v.T.lives(account.ResetLife)
	}
	return v.T.lives(v.New.Life)
}

func (q *request) sentences(e *invalid.Error) []string {
	return render.All(e.Fields, func(f *invalid.Field) string { return q.t.field(*f) })
}
