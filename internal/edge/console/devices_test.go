package console_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// WithLogins are those that live.
func (p people) WithLogins(_ context.Context, id idworker.ID) (account.User, []session.Session, error) {
	user := p.user()
	p.mu.Lock()
	defer p.mu.Unlock()
	var held []session.Session
	for login := range p.living {
		held = append(held, session.Session{ID: login, UserID: id, Username: "ada", Seen: p.now, Device: session.DeviceOf("tv", "in the <kitchen>")})
	}
	slices.SortFunc(held, func(a, b session.Session) int { return cmp.Compare(b.ID, a.ID) })
	return user, held, p.heldErr
}

func (p people) Living(held []session.Session) (logins []session.Login, err error) {
	for _, s := range held {
		logins = append(logins, session.Login{Session: s, IssuedAt: p.now, ExpiresAt: p.now.Add(2 * time.Hour), IdleExpiresAt: p.now.Add(time.Hour), IdleBy: p.idleBy})
	}
	return logins, nil
}

func (p people) EndOwn(_ context.Context, _ audit.Actor, id idworker.ID) (session.Session, error) {
	if err := p.proof(); err != nil {
		return session.Session{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.living[id]; !ok {
		return session.Session{}, session.ErrNotFound
	}
	delete(p.living, id)
	return session.Session{ID: id, UserID: 7, Ended: session.LoggedOut}, p.endErr
}

func (p people) EndOthers(_ context.Context, by audit.Actor) (ended []session.Session, err error) {
	if err := p.proof(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.living {
		if id != by.Session {
			delete(p.living, id)
			ended = append(ended, session.Session{ID: id, UserID: 7, Ended: session.LoggedOut})
		}
	}
	return ended, p.endErr
}

func (people) EndEverywhere(context.Context, audit.Actor) ([]session.Session, error) { return nil, nil }

const (
	endButton    = `name="do" value="end_device"`
	othersButton = `name="do" value="end_others"`
)

// TestAccountShowsOwnLogins: with a button for each but that which looks.
func TestAccountShowsOwnLogins(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	page := w.see(c, "/console/account").Body.String()
	if !strings.Contains(page, "This login") || strings.Contains(page, endButton) || strings.Contains(page, othersButton) {
		t.Errorf("with one login: %s", page)
	}
	w.enter()
	w.enter()
	page = w.see(c, "/console/account").Body.String()
	if strings.Count(page, endButton) != 2 || strings.Count(page, "This login") != 1 || strings.Count(page, othersButton) != 1 || !strings.Contains(page, "TV <bdi class=\"soft\">in the &lt;kitchen&gt;</bdi>") {
		t.Errorf("with three logins: %s", page)
	}
	w.heldErr = errors.New("away")
	page = w.see(c, "/console/account").Body.String()
	if !strings.Contains(page, "Your logins cannot be shown now.") || !strings.Contains(page, `value="password"`) || strings.Contains(page, endButton) {
		t.Errorf("while they cannot be read: %s", page)
	}
}

// TestOwnLoginsEndInTheConsole: after the passphrase, in the same form.
func TestOwnLoginsEndInTheConsole(t *testing.T) {
	for do, want := range map[string]struct {
		left        int
		done, again string
	}{"end_device": {2, "done=ended", "done=was_over"}, "end_others": {1, "done=others_ended", "done=others_ended"}} {
		w := newWorld(t)
		w.own = own{} // a second factor, and its code is asked for, too
		w.enter()
		other := w.lastID
		w.enter()
		c := w.enter()
		fields := []string{"do", do, "id", other.String()}
		w.unproven = true
		page := w.sendForm(c, "/console/account", fields...)
		wantStatus(t, page, 403)
		asked := 0
		for _, form := range forms.FindAllString(page.Body.String(), -1) {
			if strings.Contains(form, `name="confirm_password"`) {
				asked++
				if !strings.Contains(form, `name="confirm_code"`) || !strings.Contains(form, `value="`+do+`"`) || do == "end_device" && !strings.Contains(form, `name="id" value="`+other.String()+`"`) {
					t.Errorf("%s: asks in %s", do, form)
				}
			}
		}
		if asked != 1 || len(w.living) != 3 || !strings.Contains(page.Body.String(), "a login alone is not enough") {
			t.Errorf("%s: %d forms ask, %d logins are left", do, asked, len(w.living))
		}
		page = w.sendForm(c, "/console/account", append(fields, "confirm_password", "not the right passphrase", "confirm_code", "123456")...)
		if page.Code != 403 || len(w.living) != 3 {
			t.Errorf("%s, with a wrong passphrase: %d, %d logins are left", do, page.Code, len(w.living))
		}
		page = w.sendForm(c, "/console/account", append(fields, "confirm_password", passphrase, "confirm_code", "123456")...)
		if to := page.Header().Get("Location"); page.Code != 303 || !strings.Contains(to, want.done) || len(w.living) != want.left {
			t.Errorf("%s: %d to %q, %d logins are left", do, page.Code, to, len(w.living))
		}
		w.see(c, "/console/account")
		// Once more: what is over is no mistake.
		if to := w.sendForm(c, "/console/account", fields...).Header().Get("Location"); !strings.Contains(to, want.again) {
			t.Errorf("%s, once more: to %q", do, to)
		}
		w.enter()
		w.endErr = session.ErrUnpublished
		if to := w.sendForm(c, "/console/account", "do", do, "id", w.lastID.String()).Header().Get("Location"); !strings.Contains(to, "done=not_notified") {
			t.Errorf("%s, unpublished: to %q", do, to)
		}
		w.enter()
		w.endErr = errors.New("away")
		if page := w.sendForm(c, "/console/account", "do", do, "id", w.lastID.String()); page.Code != 503 {
			t.Errorf("%s, away: %d", do, page.Code)
		}
	}
	w := newWorld(t)
	if page := w.sendForm(w.enter(), "/console/account", "do", "end_device", "id", "x"); page.Code != 400 {
		t.Errorf("what is no ID: %d", page.Code)
	}
}

// TestEachBrowserIsADevice: an admin may be logged in on two, and the record says which is new.
func TestEachBrowserIsADevice(t *testing.T) {
	w := newWorld(t)
	enter := func(cookies ...*http.Cookie) *http.Cookie {
		r := postForm("/console/login", url.Values{"username": {"ada"}, "password": {passphrase}})
		for _, c := range cookies {
			r.AddCookie(c)
		}
		page := w.do(r)
		wantStatus(t, page, 303)
		return cookieOf(page, cookieName+"-browser")
	}
	first := enter()
	if first == nil || !first.HttpOnly || !first.Secure || first.SameSite != http.SameSiteStrictMode || first.Path != "/" || first.MaxAge != 400*24*3600 {
		t.Fatalf("cookie %v", first)
	}
	if again := enter(first); again != nil {
		t.Errorf("a browser that has an ID gets %v", again)
	}
	if other := enter(); other == nil || other.Value == first.Value {
		t.Errorf("another browser gets %v", other)
	}
	for i, d := range w.devices {
		if same := d.Key == w.devices[0].Key; d.ClassName() != "web" || d.Key == "" || same != (i < 2) {
			t.Errorf("login %d is on %+v", i, d)
		}
	}
}

// All that is wrong is named at once, also where one field cannot be read; what depends on
// that field is not guessed. No sentence repeats what was typed.
func TestEachFaultyFieldOfExpiryIsNamedAtOnce(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	page := w.dial(c, "idle", "abc", "touch", "1h", "schedule", "bad", "sessions", "1", "over_limit", "replace_oldest", "classes", "phone,,",
		"overrides", "class:other=idle:1h\n\nbogus\nrole:nobody=idle:1h", "note", "a\x01b")
	wantStatus(t, page, 422)
	for _, field := range []string{"idle", "schedule", "classes", "overrides", "note"} {
		wantText(t, page, `<a href="#`+field+`">`)
	}
	wantText(t, page, "Line 3 is no override. Write class: or role:")
	wantNoText(t, page, "“bogus”", `<a href="#touch">`, `<a href="#absolute">`, `<a href="#sessions">`)
	page = w.dial(c, "absolute", "abc", "idle", "1m", "touch", "1h")
	wantText(t, page, `<a href="#absolute">`, `<a href="#idle">`, `<a href="#touch">`)
	wantStatus(t, w.dial(c, "idle", "abc"), 422)
	page = w.limits(c, "login_address_1_count", "x", "note", "a\x01b")
	wantStatus(t, page, 422)
	wantText(t, page, `id="note-error"`, "cannot be read")
}
