package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/render"
)

type loginsView struct {
	frame
	Logins   []loginBars
	Next     string
	Newest   string
	Live     string
	Phrase   string // to be typed before all users are logged out
	Problems []string
	Reason   string
	Class    string   // of the devices that are listed; empty: all
	Classes  []string // that there are
}

// OnDevice names a class of devices.
func (f frame) OnDevice(class string) string { return f.T.Name("device", class) }

func (u *UI) showLogins(q *request) { q.showLogins(http.StatusOK, loginsView{}) }

func (q *request) showLogins(status int, view loginsView) {
	view.frame, view.Phrase = q.frame(q.t.Text("logins.title"), loginsPath), q.t.Text("logins.phrase")
	view.Bad = len(view.Problems) > 0
	before, ok := q.cursor("before", view.Title)
	if !ok {
		return
	}
	if view.Class = q.r.URL.Query().Get("device_class"); view.Class != "" && !policy.IsClass(view.Class) {
		q.message(http.StatusBadRequest, q.t.message("bad_request"))
		return
	}
	if before != 0 {
		view.Newest = linkTo(loginsPath, "device_class", view.Class)
	}
	inForce, ok := q.inForce()
	if !ok {
		return
	}
	last, _ := q.u.figures.get(q.r.Context(), q.u.Now, inForce.Version)
	view.Classes = last.classes(&inForce)
	if view.Class != "" && !slices.Contains(view.Classes, view.Class) {
		view.Classes = append(view.Classes, view.Class) // the last of its logins is over
	}
	found, err := q.u.People.Sessions.List(q.r.Context(), view.Class, before, listPage)
	if err != nil {
		q.unavailable("logins", err)
		return
	}
	view.Logins = render.All(found.Logins, q.bars)
	if found.Next != 0 {
		view.Next = linkTo(loginsPath, "device_class", view.Class, "before", found.Next.String())
	}
	if live, err := q.u.living(q.r.Context(), inForce, q.u.Now()); err == nil {
		view.Live = q.t.estimate(live)
	}
	q.render(status, "logins", view)
}

// logoutUser ends the logins of a user on devices of a class, or all of them.
func (u *UI) logoutUser(q *request, id idworker.ID, form url.Values) {
	q.keep("logout", form)
	_, err := u.People.Logout.Logout(q.r.Context(), q.operator(), id, form.Get("device_class"), typed(form, "reason"))
	q.userChanged(id, "logins_ended", "logins ended", err)
}

// endLogin ends one login, and shows the page that asked for it.
func (u *UI) endLogin(q *request, form url.Values) {
	id, err := idworker.ParseID(form.Get("id"))
	if err != nil {
		q.message(http.StatusBadRequest, q.t.message("bad_request"))
		return
	}
	back, err := url.Parse(safePath(form.Get("next")))
	if err != nil {
		back = &url.URL{Path: loginsPath}
	}
	done := "ended"
	_, err = u.People.Sessions.End(q.r.Context(), q.operator(), id, typed(form, "reason"))
	switch {
	case errors.Is(err, session.ErrUnpublished):
		done = "not_notified"
	case errors.Is(err, session.ErrNotFound):
		done = "was_over"
	case err != nil:
		q.failed("login ended", err, q.plainly(q.t.Text("logins.title")))
		return
	}
	query := back.Query()
	query.Set("done", done)
	q.redirect(back.Path, query)
}

// endAll logs all users out, if the form has the phrase that confirms it.
func (u *UI) endAll(q *request, form url.Values) {
	reason, phrase := typed(form, "reason"), q.t.Text("logins.phrase")
	again := func(status int, problems ...string) {
		q.showLogins(status, loginsView{Reason: reason, Problems: problems})
	}
	if !strings.EqualFold(strings.Join(strings.Fields(form.Get("phrase")), " "), phrase) {
		again(http.StatusUnprocessableEntity, q.t.Text("logins.type", phrase))
		return
	}
	ok, err := q.withProof(form, "end-all", again, func() error {
		_, err := u.People.Sessions.EndAll(q.r.Context(), q.operator(), reason)
		return err
	})
	switch {
	case !ok:
	case !session.Done(err):
		q.failed("logins ended", err, again)
	default:
		q.loggedOut("everybody") // the login of the admin has ended, too
	}
}
