package adminui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// LivingLogins are the verbs about logins. End and EndAll return an error
// wrapping [session.ErrUntold] as those of [People] do.
//
// List returns at most limit logins with IDs below before (0: the newest),
// newest first, and where the next page begins, or 0 if there is none. End
// returns [session.ErrNotFound] where nothing is known of such a login. EndAll
// ends every login.
type LivingLogins interface {
	List(ctx context.Context, before idworker.ID, limit int) ([]LivingLogin, idworker.ID, error)
	End(ctx context.Context, id idworker.ID, reason string) error
	EndAll(ctx context.Context, reason string) error
}

// A LivingLogin is a login, and what the policy of now makes of it.
type LivingLogin struct {
	session.Session
	IssuedAt, ExpiresAt, IdleExpiresAt time.Time
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
			v.message(http.StatusBadRequest, message{Title: v.t.Logins.Title, Lines: []string{v.t.Log.BadCursor}})
			return
		}
		view.Newest = loginsPath
	}
	logins, next, err := v.u.Living.List(v.r.Context(), before, listPage)
	if err != nil {
		v.unavailable("logins", err)
		return
	}
	for i := range logins {
		view.Logins = append(view.Logins, v.bars(&logins[i]))
	}
	if next != 0 {
		view.Next = loginsPath + "?before=" + next.String()
	}
	if live, err := v.u.living(v.r.Context(), v.u.Now()); err == nil {
		view.Live = v.t.estimate(live)
	}
	view.frame, view.Phrase = v.frame(v.t.Logins.Title, loginsPath), v.t.Logins.Phrase
	view.Bad = view.Problem != ""
	v.render(status, "logins", view)
}

// endLogin ends one login, and shows the page that asked for it.
func (u *UI) endLogin(v *visit, form url.Values) {
	id, err := idworker.ParseID(form.Get("id"))
	if err != nil {
		v.message(http.StatusBadRequest, v.t.BadRequest)
		return
	}
	back, err := url.Parse(safePath(form.Get("next")))
	if err != nil {
		back = &url.URL{Path: loginsPath}
	}
	done := "ended"
	err = u.Living.End(v.r.Context(), id, typed(form, "reason"))
	switch {
	case err == nil:
		v.acted("login ended", "session_id", id.String())
	case errors.Is(err, session.ErrUntold):
		v.acted("login ended, word under way", "session_id", id.String(), "err", err)
		done = "untold"
	case errors.Is(err, session.ErrNotFound): // it is over, which is what was asked for
	case err != nil:
		if invalid, ok := errors.AsType[*account.InvalidError](err); ok {
			v.message(http.StatusUnprocessableEntity, message{Title: v.t.Logins.Title, Lines: v.sentences(invalid)})
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
	if !strings.EqualFold(strings.Join(strings.Fields(form.Get("phrase")), " "), v.t.Logins.Phrase) {
		again.Problem = fmt.Sprintf(v.t.Logins.TypeF, v.t.Logins.Phrase)
		v.showLogins(http.StatusUnprocessableEntity, again)
		return
	}
	ask := func(status int, problem string) {
		again.Problem = problem
		v.showLogins(status, again)
	}
	ok, err := v.withProof(form, "end-all", ask, func() error { return u.Living.EndAll(v.r.Context(), again.Reason) })
	if !ok {
		return
	}
	if invalid, ok := errors.AsType[*account.InvalidError](err); ok {
		again.Problem = v.sentences(invalid)[0]
		v.showLogins(http.StatusUnprocessableEntity, again)
		return
	}
	if err != nil && !errors.Is(err, session.ErrUntold) {
		v.unavailable("logins not ended", err)
		return
	}
	v.acted("all logins ended")
	forget(v.w) // that of whoever asked is over, too
	v.see(loginPath, url.Values{"why": {"everybody"}})
}
