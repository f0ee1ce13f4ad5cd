package console

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

// A request is one request to a page: the user, the language, and where the answer
// goes.
type request struct {
	u   *UI
	w   http.ResponseWriter
	r   *http.Request
	t   *texts
	who flakepass.Identity // zero outside

	factor bool // the user has a second factor

	newBrowser string // the ID of a browser that has sent none

	form string     // the name of the form that was sent, which the page shows once more, and
	sent url.Values // what was typed into it
	asks bool       // the page asks for password and code in it; see withProof
}

func (u *UI) request(w http.ResponseWriter, r *http.Request) *request {
	return &request{u: u, w: w, r: r, t: language(r)}
}

// A frame is what is around every page.
type frame struct {
	T       *texts
	Title   string
	Here    string // the path of the page in the menu
	Back    string // where the switch for the language returns to; empty for a page without one
	Who     string // empty for a page outside
	Bad     bool   // the page shows a mistake
	Scripts []string
	Done    string     // what was done just now; may be empty
	Refresh int        // seconds after which the page comes again where no script runs; 0: never
	Factor  bool       // the user has a second factor
	form    string     // the form that is shown once more, and
	sent    url.Values // what was typed into it
	asks    bool       // it asks for password and code
}

// frame is that of a page with this title. here is its path in the menu, and
// where a change of the language leads back to.
func (q *request) frame(title, here string, scripts ...string) frame {
	f := frame{T: q.t, Title: title, Here: here, Who: q.who.Username, Scripts: scripts, Factor: q.factor, form: q.form, sent: q.sent, asks: q.asks}
	switch {
	case q.r.URL.Path == setupPath: // its query is a secret
	case q.r.URL.Path == loginPath && q.r.Method == http.MethodGet:
		f.Back = q.r.URL.RequestURI()
	case q.r.Method == http.MethodGet:
		f.Back = safePath(q.r.URL.RequestURI())
	default:
		f.Back = here
	}
	f.Done = q.t.byKey["done."+q.r.URL.Query().Get("done")]
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

func (q *request) message(status int, m message) {
	q.render(status, "message", messageView{frame: q.frame(m.Title, ""), Lines: m.Lines, Command: m.Command})
}

// unavailable answers for what could not be found out, and logs why. After a form
// it is not known whether it was done, and the page says so.
func (q *request) unavailable(what string, err error) {
	if q.answerRefusal(err) {
		return
	}
	q.logFailure(slog.LevelError, what, err)
	q.w.Header().Set("Retry-After", retryAfter)
	view := messageView{}
	m := q.t.message("unavailable")
	switch {
	case q.r.URL.Path == setupPath: // its query is a secret; the browser has it to reload
	case q.r.Method == http.MethodPost:
		if q.who.UserID != 0 || q.r.URL.Path == logoutPath { // else no admin was logged in to do anything
			m = q.t.message("undecided")
		}
		view.On, view.OnName = q.cameFrom(), q.t.Text("page.back_to")
	case q.r.Method == http.MethodGet:
		view.On, view.OnName = q.frame("", "").Back, q.t.Text("page.again")
	}
	view.frame, view.Lines = q.frame(m.Title, ""), m.Lines
	q.render(http.StatusServiceUnavailable, "message", view)
}

// logFailure logs what could not be done, unless the client has gone, which is no failure.
func (q *request) logFailure(level slog.Level, what string, err error) {
	if q.r.Context().Err() == nil {
		q.u.Log.Log(q.r.Context(), level, "console: "+what, "err", err, "request_id", q.w.Header().Get(requestIDHeader)) //nolint:sloglint // a constant of the caller
	}
}

// answerRefusal leads to the login page if err says that the login had ended, or the
// role was another, when the change was to be made, and says so if password and code
// were not shown lately. It reports whether it was one of these.
func (q *request) answerRefusal(err error) bool {
	refusal, refused := errors.AsType[*flakepass.Refusal](err)
	switch {
	case refused:
		q.credentialRefused(err)
		q.toLogin(refusal.Code())
	case errors.Is(err, audit.ErrRole):
		q.toLogin("role")
	case errors.Is(err, audit.ErrUnproven):
		q.message(http.StatusForbidden, q.t.message("unproven"))
	default:
		return false
	}
	return true
}

// cameFrom is the page of the console from which a form was sent, as far as the browser
// says so, and otherwise the one that the form belongs to.
func (q *request) cameFrom() string {
	if from, err := url.Parse(q.r.Referer()); err == nil && from.Host == q.r.Host {
		if page := safePath(from.RequestURI()); page != homePath {
			return page
		}
	}
	for p := q.r.URL.Path; strings.HasPrefix(p, homePath); p = path.Dir(p) {
		if page := safePath(p); page != homePath {
			return page
		}
	}
	return homePath
}

// render writes a page. It is whole before the status is written, so that a
// mistake in a template is a 500 and not half a page.
func (q *request) render(status int, page string, view any) {
	var b bytes.Buffer
	if err := q.u.pages().ExecuteTemplate(&b, page, view); err != nil {
		q.u.Log.Error("cannot render page", "page", page, "err", err)
		http.Error(q.w, q.t.Text("message.broken"), http.StatusInternalServerError)
		return
	}
	if q.asks && page != "message" && !bytes.Contains(b.Bytes(), []byte(`name="confirm_password"`)) {
		// The page does not have the form any more.
		q.message(http.StatusConflict, q.t.message("form_gone"))
		return
	}
	h := q.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", q.t.Lang)
	h.Set("Vary", "Accept-Language, Cookie")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	q.w.WriteHeader(status)
	_, _ = q.w.Write(b.Bytes()) // an error: the client has gone
}

// redirect sends the browser to another page of the console.
func (q *request) redirect(path string, query url.Values) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	q.w.Header().Set("Location", path)
	q.w.WriteHeader(http.StatusSeeOther)
}

// cursor is the ID in that field of the query, at which a page of a list begins; 0 is
// the first page, which a form that is sent is shown with. It answers the request,
// under the title of the list, and returns false, for what no page of the console sends.
func (q *request) cursor(field, title string) (idworker.ID, bool) {
	text := q.r.URL.Query().Get(field)
	if text == "" || q.r.Method == http.MethodPost {
		return 0, true
	}
	at, err := idworker.ParseID(text)
	if err != nil {
		q.message(http.StatusBadRequest, message{Title: title, Lines: []string{q.t.Text("audit.bad_cursor")}})
	}
	return at, err == nil
}

// firstPage is the first n of all. Where there are more, next is given the last of
// these.
func firstPage[T any](all []T, n int, next func(last *T)) []T {
	if len(all) <= n {
		return all
	}
	next(&all[n-1])
	return all[:n]
}

// linkTo is the URL of a page with these fields and values in its query. Values that
// are empty are left out.
func linkTo(path string, pairs ...string) string {
	q := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if name, value := pair[0], pair[1]; value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
