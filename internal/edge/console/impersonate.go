package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// MayActFor reports whether the page offers to act for the user.
func (v userView) MayActFor() bool {
	return v.acts && v.Person.Role == account.RoleUser && !v.Person.Disabled()
}

// actView is what impersonation.html shows, once.
type actView struct {
	frame
	User    string         // the path of the page of the user
	Session session.Opened // in which the admin acts
}

// Token is the secret, for this page and nothing else.
func (v actView) Token() string { return v.Session.Token.Reveal() }

func (u *UI) impersonate(q *request, id idworker.ID, form url.Values) {
	var opened session.Opened
	ok, err := q.withProof(form, "act", q.showUser, func() (err error) {
		opened, err = u.People.Acts.Impersonate(q.r.Context(), q.operator(), id, typed(form, "reason"))
		return err
	})
	switch {
	case !ok:
	case errors.Is(err, operator.ErrImpersonationOff):
		q.showUser(http.StatusForbidden, q.t.Text("act.off"))
	case errors.Is(err, session.ErrNotUser), errors.Is(err, account.ErrDisabled):
		q.showUser(http.StatusForbidden, q.t.Text("act.refused"))
	case errors.Is(err, session.ErrManyActs):
		q.showUser(http.StatusConflict, q.t.Text("act.many"))
	case err != nil:
		q.failed("impersonation begun", err, q.showUser)
	default:
		f := q.frame(q.t.Text("act.title"), usersPath, "given.js")
		f.Back = "" // another language would have to begin another
		q.render(http.StatusCreated, "impersonation", actView{frame: f, User: userPath(id), Session: opened})
	}
}
