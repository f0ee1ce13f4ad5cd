package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// deleteUser deletes the user whose name was typed.
func (u *UI) deleteUser(q *request, id idworker.ID, form url.Values) {
	ok, err := q.withProof(form, "delete", q.showUser, func() error {
		_, err := u.People.Deletion.Delete(q.r.Context(), q.operator(), id, typed(form, "username"), typed(form, "reason"))
		return err
	})
	switch {
	case !ok:
	case session.Done(err):
		q.redirect(usersPath, url.Values{"done": {"deleted"}})
	default:
		q.failed("user deleted", err, q.showUser)
	}
}

const doDelete = "delete_me"

// deleteMe asks for the deletion of the own account, and leads to the login.
func (u *UI) deleteMe(q *request, form url.Values) {
	if u.Own.Grace == 0 { // the page has no such form
		q.plainly(q.t.Text("account.title"))(http.StatusForbidden, q.t.Text("account.deletion_off"))
		return
	}
	again := func(status int, problems ...string) {
		q.showAccount(status, accountView{Problems: problems, At: doDelete})
	}
	if typed(form, "username") != q.who.Username {
		again(http.StatusUnprocessableEntity, q.t.Text("users.delete_mismatch"))
		return
	}
	ok, err := q.withProof(form, doDelete, again, func() error {
		_, err := u.Own.AskDeletion(q.r.Context(), q.client())
		return err
	})
	switch {
	case !ok:
	case session.Done(err):
		q.loggedOut("deletion_asked")
	case errors.Is(err, account.ErrLastAdmin):
		again(http.StatusConflict, q.t.Text("users.last_admin"))
	default:
		q.unavailable("own account deleted", err)
	}
}

// Grace is how long a person can come back who has deleted the own account, in words; empty
// where people cannot delete it.
func (v accountView) Grace() string {
	if v.grace == 0 {
		return ""
	}
	return v.T.span(v.grace)
}

// AtDeletion reports whether the problem is with the deletion.
func (v accountView) AtDeletion() bool { return v.At == doDelete }
