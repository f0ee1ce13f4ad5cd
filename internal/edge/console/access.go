package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// adminPage shows a page to an admin, and the login page to everyone else. A query that
// cannot be read would be left out, and the page show what was not asked for.
func (u *UI) adminPage(h func(*request)) func(*request) {
	return func(q *request) {
		if !q.requireAdmin() {
			return
		}
		if _, ok := readFields(q.r.URL.RawQuery); !ok {
			q.message(http.StatusUnprocessableEntity, q.t.message("bad_query"))
			return
		}
		h(q)
	}
}

// form reads a form that was sent from a page of the console.
func (u *UI) form(h func(*request, url.Values)) func(*request) {
	return func(q *request) {
		if err := u.origin.Check(q.r); err != nil {
			q.logFirst("form of another site", audit.Incident{Action: audit.AccessForbidden, Reason: "cross_origin"})
			q.message(http.StatusForbidden, q.t.message("cross_origin"))
			return
		}
		q.withForm(h)
	}
}

// withForm gives h the form, or says why there is none.
func (q *request) withForm(h func(*request, url.Values)) {
	if form, status := readForm(q.w, q.r); status == 0 {
		h(q, form)
	} else {
		q.message(status, q.t.refused(status))
	}
}

// adminForm is form, for an admin.
func (u *UI) adminForm(h func(*request, url.Values)) func(*request) {
	return u.form(func(q *request, form url.Values) {
		if q.requireAdmin() {
			h(q, form)
		}
	})
}

// requireAdmin finds out who sends the request. It answers the request, and returns
// false, unless that is an admin.
func (q *request) requireAdmin() bool {
	t, err := tokenOf(q.r)
	if err == nil {
		q.who, err = q.u.Sessions.Verify(q.r.Context(), t)
	}
	refusal, refused := errors.AsType[*flakepass.Refusal](err)
	q.credentialRefused(err)
	switch {
	case errors.Is(err, flakepass.ErrMissing) && q.fromOtherSite():
		q.render(http.StatusOK, "again", q.frame(q.t.Text("login.title"), ""))
		return false
	case refused:
		q.toLogin(refusal.Code())
		return false
	case errors.Is(err, flakepass.ErrAmbiguous):
		q.toLogin(flakepass.ErrMalformed.Code())
		return false
	case err != nil:
		q.who = flakepass.Identity{}
		q.unavailable("cannot tell whether a token is good", err)
		return false
	case account.Role(q.who.Role) != account.RoleAdmin:
		n, args := operator.Forbidden(q.operator(), q.who, q.r.Method+" "+q.r.Pattern)
		q.logIncident("forbidden", n, args...)
		q.who = flakepass.Identity{}
		q.toLogin("role")
		return false
	}
	if q.factor, err = q.u.Own.HasFactor(q.r.Context(), q.client()); err != nil {
		q.unavailable("cannot tell whether there is a second factor", err)
		return false
	}
	if q.u.AdminsNeedFactor && !q.factor && q.r.URL.Path != accountPath {
		q.redirect(accountPath, nil)
		return false
	}
	return true
}

// operator is the admin who acts by this request, and from where.
func (q *request) operator() audit.Actor {
	return audit.Actor{
		ID: session.UserOf(q.who), Session: idworker.ID(q.who.SessionID), Name: q.who.Username, Via: audit.ViaConsole,
		RequestID: q.w.Header().Get(requestIDHeader), Address: q.u.address(q.r),
	}
}

// fromOtherSite reports whether the browser followed a link of another site. It
// does not send the cookie then, and sends it when the page loads itself again.
func (q *request) fromOtherSite() bool {
	return q.r.Method == http.MethodGet && q.r.Header.Get("Sec-Fetch-Site") == "cross-site" &&
		q.r.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// loggedOut leads to the login page after what was asked for has ended the login.
func (q *request) loggedOut(why string) {
	clearToken(q.w)
	q.redirect(loginPath, url.Values{"why": {why}})
}

// toLogin leads who is not let in to the login page, and from there back. A form is not sent
// again, and the page says so: the user may no longer want what it was to do.
func (q *request) toLogin(why string) {
	if why != flakepass.ErrMissing.Code() {
		clearToken(q.w)
	}
	query := url.Values{"why": {why}}
	if q.r.Method == http.MethodGet || q.r.Method == http.MethodHead {
		query.Set("next", safePath(q.r.URL.RequestURI()))
	} else {
		query.Set("next", q.cameFrom())
		query.Set("lost", "")
	}
	q.redirect(loginPath, query)
}
