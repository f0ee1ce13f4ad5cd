package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

const (
	usersPath  = "/console/users"
	loginsPath = "/console/logins"
	listPage   = 25
)

// People are the verbs about users. A verb that ends a login returns an error
// wrapping [session.ErrUntold] if it is done, and other instances learn of it
// within the bound only.
//
// List returns at most limit users: older than after, newest first, or, with a
// prefix, those whose names begin with it, in the order of their names, behind
// that user. Get returns [account.ErrNotFound] where there is none. Create fails
// as [account.Service.Register] does. Change fails with [account.ErrNotFound],
// an [*account.InvalidError] or [account.ErrLastAdmin].
type People interface {
	List(ctx context.Context, prefix string, after idworker.ID, limit int) ([]account.User, error)
	Get(ctx context.Context, id idworker.ID) (operator.Person, error)
	Create(ctx context.Context, by audit.Actor, username string, p account.Password, role account.Role, reason string) (account.User, error)
	Change(ctx context.Context, by audit.Actor, id idworker.ID, c operator.UserChange) (operator.Person, session.Session, error)
}

type usersView struct {
	frame
	Prefix   string
	Problem  string // with the list
	Users    []account.User
	Next     string // the URL of the next page; empty if this is the last
	First    string // of the first; empty on it
	New      newUser
	Problems []string
	Roles    []option
	Links    bool // a new user can be given a one-time link
}

// newUser is what was typed to make one; the passphrase does not come back.
type newUser struct {
	Username, Reason string
	ByLink           bool // it gets a one-time link to set one
	Life             time.Duration
}

func (u *UI) showUsers(v *visit) { v.showUsers(http.StatusOK, usersView{}) }

func (v *visit) showUsers(status int, view usersView) {
	q := v.r.URL.Query()
	view.frame = v.frame(v.t.Text("users.title"), usersPath)
	view.Bad, view.Links = len(view.Problems) > 0, v.u.Resets != nil
	if view.Roles == nil {
		view.Roles = v.roles(account.RoleUser)
	}
	var after idworker.ID
	if v.r.Method != http.MethodPost {
		view.Prefix = typed(q, "name")
		if text := q.Get("after"); text != "" {
			var err error
			if after, err = idworker.ParseID(text); err != nil {
				v.message(http.StatusBadRequest, message{Title: v.t.Text("users.title"), Lines: []string{v.t.Text("audit.bad_cursor")}})
				return
			}
			view.First = usersPath
			if view.Prefix != "" {
				view.First += "?" + url.Values{"name": {view.Prefix}}.Encode()
			}
		}
	}
	users, err := v.u.People.List(v.r.Context(), view.Prefix, after, listPage+1)
	if _, ok := errors.AsType[*account.InvalidError](err); ok {
		v.message(http.StatusUnprocessableEntity, message{Title: v.t.Text("users.title"), Lines: []string{v.t.Text("audit.bad_cursor")}})
		return
	}
	if err != nil {
		v.unavailable("users", err)
		return
	}
	if len(users) > listPage {
		users = users[:listPage]
		next := url.Values{"after": {users[listPage-1].ID.String()}}
		if view.Prefix != "" {
			next.Set("name", view.Prefix)
		}
		view.Next = usersPath + "?" + next.Encode()
	}
	view.Users = users
	v.render(status, "users", view)
}

// roles are all, and which one is chosen.
func (v *visit) roles(chosen account.Role) (all []option) {
	for _, r := range []account.Role{account.RoleUser, account.RoleService, account.RoleAdmin} {
		all = append(all, option{string(r), v.t.Name("role", string(r)), r == chosen})
	}
	return all
}

// createUser makes an account. A passphrase that was typed for it does not come back,
// where the page is shown once more.
func (u *UI) createUser(v *visit, form url.Values) {
	role := account.Role(form.Get("role"))
	in := newUser{Username: typedName(form), Reason: typed(form, "reason"), ByLink: form.Get("by") == "link" && u.Resets != nil}
	if in.ByLink {
		var ok bool
		if in.Life, ok = v.readLife(form); !ok {
			return
		}
	}
	again := func(status int, problems ...string) {
		v.showUsers(status, usersView{New: in, Problems: problems, Roles: v.roles(role)})
	}
	var user account.User
	var started operator.StartedReset
	ask := func(status int, problem string) { again(status, problem) }
	ok, err := v.withProof(form, "create", ask, func() (err error) {
		if in.ByLink {
			user, started, err = u.Resets.Invite(v.r.Context(), v.operator(), in.Username, role, in.Life, in.Reason)
		} else {
			user, err = u.People.Create(v.r.Context(), v.operator(), in.Username, account.NewPassword(form.Get("password")), role, in.Reason)
		}
		return err
	})
	if !ok {
		return
	}
	invalid, isInvalid := errors.AsType[*account.InvalidError](err)
	switch {
	case err == nil && in.ByLink:
		v.showGiven(&user, started, v.t.Text("done.created"))
	case err == nil:
		v.see(usersPath+"/"+user.ID.String(), url.Values{"done": {"created"}})
	case isInvalid:
		again(http.StatusUnprocessableEntity, v.sentences(invalid)...)
	case errors.Is(err, account.ErrExists):
		again(http.StatusConflict, v.t.Text("users.taken"))
	case errors.Is(err, account.ErrBusy):
		again(http.StatusServiceUnavailable, v.t.Text("login.busy"))
	default:
		v.unavailable("user not created", err)
	}
}

// Lives are the choices of how long the link of a new user works.
func (v usersView) Lives() []option {
	if v.New.Life == 0 {
		return v.T.lives(account.ResetLife)
	}
	return v.T.lives(v.New.Life)
}

func (v *visit) sentences(e *account.InvalidError) (all []string) {
	for _, f := range e.Fields {
		all = append(all, v.t.field(f.Field, f.Code, f.Message))
	}
	return all
}
