package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// LivingLogins are the verbs about logins. End and EndAll return an error
// wrapping [session.ErrUntold] as those of [People] do.
//
// List returns at most limit logins with IDs below before (0: the newest),
// newest first. End
// returns [session.ErrNotFound] where nothing is known of such a login. EndAll
// ends every login.
type LivingLogins interface {
	List(ctx context.Context, before idworker.ID, limit int) (operator.Page, error)
	End(ctx context.Context, by audit.Actor, id idworker.ID, reason string) (session.Session, error)
	EndAll(ctx context.Context, by audit.Actor, reason string) (operator.EndedAll, error)
}

type loginsView struct {
	frame
	Logins  []loginBars
	Next    string
	Newest  string
	Live    string
	Phrase  string // to be typed before everybody is logged out
	Problem string
	Reason  string
}

func (u *UI) showLogins(v *visit) { v.showLogins(http.StatusOK, loginsView{}) }

func (v *visit) showLogins(status int, view loginsView) {
	var before idworker.ID
	if text := v.r.URL.Query().Get("before"); text != "" && v.r.Method != http.MethodPost {
		var err error
		if before, err = idworker.ParseID(text); err != nil {
			v.message(http.StatusBadRequest, message{Title: v.t.Text("logins.title"), Lines: []string{v.t.Text("audit.bad_cursor")}})
			return
		}
		view.Newest = loginsPath
	}
	found, err := v.u.Living.List(v.r.Context(), before, listPage)
	if err != nil {
		v.unavailable("logins", err)
		return
	}
	for i := range found.Logins {
		view.Logins = append(view.Logins, v.bars(&found.Logins[i]))
	}
	if found.Next != 0 {
		view.Next = loginsPath + "?before=" + found.Next.String()
	}
	if live, err := v.u.living(v.r.Context(), v.u.Now()); err == nil {
		view.Live = v.t.estimate(live)
	}
	view.frame, view.Phrase = v.frame(v.t.Text("logins.title"), loginsPath), v.t.Text("logins.phrase")
	view.Bad = view.Problem != ""
	v.render(status, "logins", view)
}

// endLogin ends one login, and shows the page that asked for it.
func (u *UI) endLogin(v *visit, form url.Values) {
	id, err := idworker.ParseID(form.Get("id"))
	if err != nil {
		v.message(http.StatusBadRequest, v.t.message("bad_request"))
		return
	}
	back, err := url.Parse(safePath(form.Get("next")))
	if err != nil {
		back = &url.URL{Path: loginsPath}
	}
	done := "ended"
	_, err = u.Living.End(v.r.Context(), v.operator(), id, typed(form, "reason"))
	switch {
	case errors.Is(err, session.ErrUntold):
		done = "untold"
	case errors.Is(err, session.ErrNotFound): // it is over, which is what was asked for
	case err != nil:
		if invalid, ok := errors.AsType[*account.InvalidError](err); ok {
			v.message(http.StatusUnprocessableEntity, message{Title: v.t.Text("logins.title"), Lines: v.sentences(invalid)})
			return
		}
		v.unavailable("login not ended", err)
		return
	}
	q := back.Query()
	q.Set("done", done)
	v.see(back.Path, q)
}

// endAll logs everybody out, if somebody has typed that they mean it.
func (u *UI) endAll(v *visit, form url.Values) {
	again := loginsView{Reason: typed(form, "reason")}
	if !strings.EqualFold(strings.Join(strings.Fields(form.Get("phrase")), " "), v.t.Text("logins.phrase")) {
		again.Problem = v.t.Text("logins.type", v.t.Text("logins.phrase"))
		v.showLogins(http.StatusUnprocessableEntity, again)
		return
	}
	ask := func(status int, problem string) {
		again.Problem = problem
		v.showLogins(status, again)
	}
	ok, err := v.withProof(form, "end-all", ask, func() error {
		_, err := u.Living.EndAll(v.r.Context(), v.operator(), again.Reason)
		return err
	})
	if !ok {
		return
	}
	if invalid, ok := errors.AsType[*account.InvalidError](err); ok {
		again.Problem = v.sentences(invalid)[0]
		v.showLogins(http.StatusUnprocessableEntity, again)
		return
	}
	if !session.Done(err) {
		v.unavailable("logins not ended", err)
		return
	}
	forget(v.w) // that of whoever asked is over, too
	v.see(loginPath, url.Values{"why": {"everybody"}})
}
