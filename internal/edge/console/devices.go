package console

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// devicesView are the logins of the user who looks.
type devicesView struct {
	Logins  []loginBars
	Others  bool   // there is another than the one that looks
	Unknown bool   // they could not be read: the rest of the page does without
	Ending  string // the device for which the page asks for the passphrase
}

func (q *request) devices() (view devicesView) {
	found, err := q.u.Own.Logins(q.r.Context(), q.client())
	if err != nil {
		view.Unknown = true
		q.logFailure(slog.LevelError, "own logins", err)
	}
	for i := range found {
		bars := q.bars(&found[i])
		bars.Mine = bars.ID == idworker.ID(q.who.SessionID)
		view.Others = view.Others || !bars.Mine
		if q.form == doEndDevice && bars.ID.String() == q.sent.Get("id") {
			view.Ending = bars.Kind + " " + bars.Device.Label()
		}
		view.Logins = append(view.Logins, bars)
	}
	return view
}

// logoutDevices ends one login of the user, or all but the one that asks.
func (u *UI) logoutDevices(q *request, form url.Values, do string) {
	id, err := idworker.ParseID(form.Get("id"))
	if err != nil && do == doEndDevice {
		q.message(http.StatusBadRequest, q.t.message("bad_request"))
		return
	}
	done := map[string]string{doEndDevice: "ended", doEndOthers: "others_ended"}[do]
	again := func(status int, problems ...string) {
		q.showAccount(status, accountView{Problems: problems, At: do})
	}
	ok, err := q.withProof(form, do, again, func() error {
		if do == doEndOthers {
			_, err := u.Own.LogoutOthers(q.r.Context(), q.client())
			return err
		}
		return u.Own.LogoutDevice(q.r.Context(), q.client(), id)
	})
	switch {
	case !ok:
		return
	case errors.Is(err, session.ErrUnpublished):
		done = "not_notified"
	case errors.Is(err, session.ErrNotFound):
		done = "was_over"
	case err != nil:
		q.failed("own logins ended", err, again)
		return
	}
	q.redirect(accountPath, url.Values{"done": {done}})
}
