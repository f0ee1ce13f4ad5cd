package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// inside lets an admin in, and shows everybody else the login page.
func (u *UI) inside(h func(*visit)) func(*visit) {
	return func(v *visit) {
		if v.enter() {
			h(v)
		}
	}
}

// form reads a form that a page of ours sent.
func (u *UI) form(h func(*visit, url.Values)) func(*visit) {
	return func(v *visit) {
		if err := u.origin.Check(v.r); err != nil {
			v.glimpse("form of another site", audit.Sighting{Action: audit.AccessForbidden, Reason: "cross_origin"})
			v.message(http.StatusForbidden, v.t.message("cross_origin"))
			return
		}
		if form, status := readForm(v.w, v.r); status == 0 {
			h(v, form)
		} else {
			v.message(status, v.t.refused(status))
		}
	}
}

// act is form, for an admin.
func (u *UI) act(h func(*visit, url.Values)) func(*visit) {
	return u.form(func(v *visit, form url.Values) {
		if v.enter() {
			h(v, form)
		}
	})
}

// enter finds out who visits. It answers the request, and returns false, unless
// that is an admin.
func (v *visit) enter() bool {
	t, err := carried(v.r)
	if err == nil {
		v.who, err = v.u.Sessions.Verify(v.r.Context(), t)
	}
	refusal, refused := errors.AsType[*flakepass.Refusal](err)
	v.credentialRefused(err)
	switch {
	case errors.Is(err, flakepass.ErrMissing) && v.fromOutside():
		v.render(http.StatusOK, "again", v.frame(v.t.Text("login.title"), ""))
		return false
	case refused:
		v.toLogin(refusal.Code())
		return false
	case errors.Is(err, flakepass.ErrAmbiguous):
		v.toLogin(flakepass.ErrMalformed.Code())
		return false
	case err != nil:
		v.who = flakepass.Identity{}
		v.unavailable("cannot tell whether a token is good", err)
		return false
	case account.Role(v.who.Role) != account.RoleAdmin:
		v.r = v.r.WithContext(audit.NewContext(v.r.Context(), audit.Actor{
			ID: session.UserOf(v.who), Name: v.who.Username, Via: audit.ViaConsole, RequestID: v.w.Header().Get(requestIDHeader),
		}))
		v.sight("forbidden", audit.Sighting{Action: audit.AccessForbidden, Reason: v.r.Method + " " + v.r.Pattern}, "user_id", v.who.UserID.String(), "role", v.who.Role)
		v.who = flakepass.Identity{}
		v.toLogin("role")
		return false
	}
	if v.factor, err = v.u.Own.HasFactor(v.r.Context(), session.UserOf(v.who)); err != nil {
		v.unavailable("cannot tell whether there is a second factor", err)
		return false
	}
	if v.u.AdminsNeedFactor && !v.factor && v.r.URL.Path != accountPath {
		v.see(accountPath, nil)
		return false
	}
	v.r = v.r.WithContext(audit.NewContext(v.r.Context(), v.operator()))
	return true
}

// operator is the admin who acts by this request, and from where.
func (v *visit) operator() audit.Actor {
	return audit.Actor{
		ID: session.UserOf(v.who), Session: idworker.ID(v.who.SessionID), Name: v.who.Username, Via: audit.ViaConsole,
		RequestID: v.w.Header().Get(requestIDHeader), Address: v.u.address(v.r),
	}
}

// fromOutside reports whether somebody followed a link of another site. The
// cookie stays at home then, and comes along when the page asks for itself.
func (v *visit) fromOutside() bool {
	return v.r.Method == http.MethodGet && v.r.Header.Get("Sec-Fetch-Site") == "cross-site" &&
		v.r.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// toLogin leads to the login page, and from there back. A form is not sent
// again, which the page says: what it was to do may no longer be meant.
func (v *visit) toLogin(why string) {
	if why != flakepass.ErrMissing.Code() {
		forget(v.w)
	}
	query := url.Values{"why": {why}}
	if v.r.Method == http.MethodGet || v.r.Method == http.MethodHead {
		query.Set("next", safePath(v.r.URL.RequestURI()))
	} else {
		query.Set("next", v.cameFrom())
		query.Set("lost", "")
	}
	v.see(loginPath, query)
}
