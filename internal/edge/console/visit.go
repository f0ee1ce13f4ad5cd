package console

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// A visit is one request to a page: who asks, in which language, and where the
// answer goes.
type visit struct {
	u   *UI
	w   http.ResponseWriter
	r   *http.Request
	t   *texts
	who flakepass.Identity // zero outside

	factor bool // whoever visits has a second factor

	asks string     // the form in which the page asks for password and code; see withProof
	sent url.Values // what was typed into it
}

func (u *UI) visit(w http.ResponseWriter, r *http.Request) *visit {
	return &visit{u: u, w: w, r: r, t: language(r)}
}

// A frame is what is around every page.
type frame struct {
	T       *texts
	Title   string
	Here    string // the path of the page in the menu
	Back    string // where the switch for the language returns to; empty for a page without one
	Who     string // empty for a page outside
	Bad     bool   // the page tells of a mistake
	Scripts []string
	Done    string     // what was done just now; may be empty
	Refresh int        // seconds after which the page comes again where no script runs; 0: never
	people  bool       // there are pages about users and logins
	Factor  bool       // whoever visits has a second factor
	asks    string     // the form that asks for password and code, and
	sent    url.Values // what was typed into it
}

// frame is that of a page with this title. here is its path in the menu, and
// where a change of the language leads back to.
func (v *visit) frame(title, here string, scripts ...string) frame {
	f := frame{T: v.t, Title: title, Here: here, Who: v.who.Username, Scripts: scripts, people: v.u.People != nil, Factor: v.factor, asks: v.asks, sent: v.sent}
	switch {
	case v.r.URL.Path == setupPath: // its query is a secret
	case v.r.URL.Path == loginPath && v.r.Method == http.MethodGet:
		f.Back = v.r.URL.RequestURI()
	case v.r.Method == http.MethodGet:
		f.Back = safePath(v.r.URL.RequestURI())
	default:
		f.Back = here
	}
	f.Done = v.t.byKey["done."+v.r.URL.Query().Get("done")]
	return f
}

// A message is a page that has only something to say.
type message struct {
	Title   string
	Lines   []string
	Command string // to type in a shell; may be empty
}

type messageView struct {
	frame
	Lines   []string
	Command string
	On      string // where to go on from here, and
	OnName  string // what that is called; may be empty
}

func (v *visit) message(status int, m message) {
	v.render(status, "message", messageView{frame: v.frame(m.Title, ""), Lines: m.Lines, Command: m.Command})
}

// unavailable answers for what could not be found out, and logs why. Of a form
// nobody knows whether it was done, and the page says so.
func (v *visit) unavailable(what string, err error) {
	if v.over(err) {
		return
	}
	if v.r.Context().Err() == nil { // else nobody waits, and leaving is no error
		v.u.Log.ErrorContext(v.r.Context(), "console: "+what, "err", err, "request_id", v.w.Header().Get(requestIDHeader)) //nolint:sloglint // a constant of the caller
	}
	v.w.Header().Set("Retry-After", retryAfter)
	view := messageView{}
	m := v.t.message("unavailable")
	switch {
	case v.r.URL.Path == setupPath: // its query is a secret; the browser has it to reload
	case v.r.Method == http.MethodPost:
		if v.who.UserID != 0 || v.r.URL.Path == logoutPath { // else nobody was let in to do anything
			m = v.t.message("undecided")
		}
		view.On, view.OnName = v.cameFrom(), v.t.Text("page.back_to")
	case v.r.Method == http.MethodGet:
		view.On, view.OnName = v.frame("", "").Back, v.t.Text("page.again")
	}
	view.frame, view.Lines = v.frame(m.Title, ""), m.Lines
	v.render(http.StatusServiceUnavailable, "message", view)
}

// over leads to the login page if err says that the login was over, or the role
// another, when something was to be changed by it, and says so if password and code
// were not shown lately. It reports whether it was one of these.
func (v *visit) over(err error) bool {
	refusal, refused := errors.AsType[*flakepass.Refusal](err)
	switch {
	case refused:
		v.credentialRefused(err)
		v.toLogin(refusal.Code())
	case errors.Is(err, audit.ErrRole):
		v.toLogin("role")
	case errors.Is(err, audit.ErrUnproven):
		v.message(http.StatusForbidden, v.t.message("unproven"))
	default:
		return false
	}
	return true
}

// cameFrom is the page of ours from which a form was sent, as far as the browser
// says so, and otherwise the one that the form belongs to.
func (v *visit) cameFrom() string {
	if from, err := url.Parse(v.r.Referer()); err == nil && from.Host == v.r.Host {
		if page := safePath(from.RequestURI()); page != homePath {
			return page
		}
	}
	switch path := v.r.URL.Path; path {
	case expiryPath + "/revert":
		return expiryPath
	case loginsPath + "/end", loginsPath + "/end-all":
		return loginsPath
	default:
		return safePath(path)
	}
}

// render writes a page. It is whole before the status is written, so that a
// mistake in a template is a 500 and not half a page.
func (v *visit) render(status int, page string, view any) {
	var b bytes.Buffer
	if err := v.u.pages.ExecuteTemplate(&b, page, view); err != nil {
		v.u.Log.Error("cannot render page", "page", page, "err", err)
		http.Error(v.w, v.t.Text("message.broken"), http.StatusInternalServerError)
		return
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", v.t.Lang)
	h.Set("Vary", "Accept-Language, Cookie")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // the visitor has gone
}

// see sends the browser to another page of ours.
func (v *visit) see(path string, query url.Values) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	v.w.Header().Set("Location", path)
	v.w.WriteHeader(http.StatusSeeOther)
}
