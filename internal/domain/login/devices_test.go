package login_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// devices are the logins of alice.
type devices struct {
	login.Devices
	held  []session.Session
	err   error
	asked []idworker.ID
}

func (d *devices) WithLogins(_ context.Context, id idworker.ID) (account.User, []session.Session, error) {
	d.asked = append(d.asked, id)
	return account.User{ID: id}, d.held, d.err
}

func (d *devices) Living(held []session.Session) (living []session.Login, err error) {
	for _, s := range held {
		living = append(living, session.Login{Session: s})
	}
	return living, nil
}

func (d *devices) EndOwn(_ context.Context, _ audit.Actor, id idworker.ID) (session.Session, error) {
	d.asked = append(d.asked, id)
	if d.err != nil && !session.Done(d.err) {
		return session.Session{}, d.err
	}
	return d.held[0], d.err
}

func (d *devices) EndOthers(context.Context, audit.Actor) ([]session.Session, error) {
	return d.held, d.err
}

func (d *devices) EndEverywhere(context.Context, audit.Actor) ([]session.Session, error) {
	return d.held, d.err
}

func newDevices(t *testing.T) (*world, *devices) {
	w := newWorld(t)
	d := &devices{held: []session.Session{{ID: 72, UserID: w.user.ID, Ended: session.LoggedOut}, {ID: 71, UserID: w.user.ID, Ended: session.Idle, Before: true}, {ID: 69, UserID: w.user.ID, Ended: session.LoggedOut}, {ID: 68, UserID: w.user.ID, Act: 5, Ended: session.LoggedOut}}}
	w.login.Devices, w.login.Held = d, d
	return w, d
}

// TestLoginsAreThoseOfTheCaller: the client names nobody else.
func TestLoginsAreThoseOfTheCaller(t *testing.T) {
	w, d := newDevices(t)
	if found, err := w.login.Logins(t.Context(), w.client()); err != nil || len(found) != 4 || found[0].ID != 72 || d.asked[0] != w.user.ID {
		t.Errorf("%+v, %v, of %v", found, err, d.asked)
	}
	d.err = errors.New("away")
	if found, err := w.login.Logins(t.Context(), w.client()); !errors.Is(err, d.err) || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestEndsOfDevicesAreLogged: those that this call ended, each with a line and a count, and
// not those that were over.
func TestEndsOfDevicesAreLogged(t *testing.T) {
	away := errors.New("away")
	for what, do := range map[string]func(*world) (int, error){
		"logout of a device": func(w *world) (int, error) { return 1, w.login.LogoutDevice(t.Context(), w.client(), 72) },
		"logout of the other devices": func(w *world) (int, error) {
			n, err := w.login.LogoutOthers(t.Context(), w.client())
			if want := 2; session.Done(err) && n != want {
				t.Errorf("%d logins, want %d", n, want)
			}
			return 2, err
		},
		"logout everywhere": func(w *world) (int, error) { return 2, w.login.LogoutEverywhere(t.Context(), w.client()) },
	} {
		for _, result := range []error{nil, session.ErrUnpublished, away} {
			w, d := newDevices(t)
			d.err = result
			n, err := do(w)
			if errors.Is(result, away) {
				n = 0
			}
			log := w.log.String()
			acts := min(n, 1)
			if what == "logout of a device" {
				acts = 0
			}
			if !errors.Is(err, result) || strings.Count(log, `msg="`+what+`"`) != n+acts || strings.Count(log, "event=impersonation.ended") != acts || strings.Count(log, "event=login.logged_out") != n || strings.Contains(log, "session_id=71") ||
				n > 0 && (!strings.Contains(log, "session_id=72 by_session=70") || strings.Contains(log, "err=") != (result != nil)) {
				t.Errorf("%s, %v: %v, the log has %s", what, result, err, log)
			}
		}
	}
}
