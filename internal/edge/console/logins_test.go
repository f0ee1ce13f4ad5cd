package console_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// onDevices gives the logins of a crowd devices: of those with an even ID a phone, and one TV.
func (c *crowd) onDevices() *crowd {
	for id, l := range c.logins {
		if id%2 == 0 {
			l.Device = session.DeviceOf("phone", "")
		}
		c.logins[id] = l
	}
	l := c.logins[9001]
	l.Device = session.DeviceOf("tv", "in the hall")
	c.logins[9001] = l
	return c
}

// The class that was chosen stays chosen on each page.
func TestLoginsOfAClass(t *testing.T) {
	w := newWorld(t)
	w.populate(70).onDevices()
	c := w.enter()
	names, pages := 0, 0
	for path := "/console/logins?device_class=phone"; path != ""; pages++ {
		page := w.see(c, path)
		wantText(t, page, `<option value="phone" selected>Phone</option>`)
		wantNoText(t, page, "in the hall")
		names += strings.Count(page.Body.String(), `<a href="/console/users/`)
		if path = next(page); path != "" && !strings.Contains(path, "device_class=phone") {
			t.Fatalf("the next page is %s", path)
		}
		if pages == 1 {
			wantText(t, page, `href="/console/logins?device_class=phone"`) // back to the newest
		}
	}
	if names != 35 || pages != 2 {
		t.Errorf("%d logins on %d pages, want 35 on 2", names, pages)
	}
	wantText(t, w.see(c, "/console/logins?device_class=tv"), "in the hall")
	wantText(t, w.see(c, "/console/logins?device_class=tablet"), "No user is logged in on such a device.")
	page := w.see(c, "/console/logins?device_class=fridge%3Cb%3E")
	wantStatus(t, page, 400)
	wantNoText(t, page, "<b>")
}

func TestUserIsLoggedOutByClass(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(3).onDevices()
	l := crowd.logins[9001]
	l.ID, l.Device = 9101, session.DeviceOf("phone", "red")
	crowd.logins[l.ID] = l
	c := w.enter()
	page := w.see(c, "/console/users/8")
	wantText(t, page, `<option value="phone">Phone</option>`, `<option value="tv">TV</option>`, `action="/console/users/8/logout"`)
	wantNoText(t, page, `<option value="tablet">`)
	sent := w.sendForm(c, "/console/users/8/logout", "device_class", "phone", "reason", "lost")
	if sent.Code != 303 || sent.Header().Get("Location") != "/console/users/8?done=logins_ended" || !slices.Equal(crowd.calls, []string{`logout 8 of "phone": 1 lost`}) {
		t.Fatalf("%d to %s, %v", sent.Code, sent.Header().Get("Location"), crowd.calls)
	}
	wantText(t, w.see(c, "/console/users/8?done=logins_ended"), "The logins have ended.", "TV")
	w.sendForm(c, "/console/users/8/logout", "device_class", "", "reason", "")
	for id, l := range crowd.logins {
		if l.UserID == idworker.ID(8) {
			t.Errorf("%v lives: %v", id, crowd.calls)
		}
	}
	wantNoText(t, w.see(c, "/console/users/8"), `action="/console/users/8/logout"`)
	crowd.err = session.ErrUnpublished
	if sent := w.sendForm(c, "/console/users/9/logout"); sent.Header().Get("Location") != "/console/users/9?done=not_notified" {
		t.Errorf("leads to %s", sent.Header().Get("Location"))
	}
	crowd.err = errors.New("disk on fire")
	page = w.sendForm(c, "/console/users/9/logout") // the browser does not say from which page
	wantStatus(t, page, 503)
	wantText(t, page, `href="/console/users/9"`)
}

// TestListsNameTheOverride beside what is left of a login: it is the override, and not the
// policy that the page about expiry shows first, that an admin has to change.
func TestListsNameTheOverride(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(2)
	l := crowd.logins[9001]
	l.IdleBy, l.ExpiresBy = policy.Scope{Class: "phone"}, policy.Scope{Role: "user"}
	crowd.logins[9001] = l
	c := w.enter()
	page := w.see(c, "/console/logins")
	wantText(t, page, `30 minutes <code>class:phone</code>`)
	wantNoText(t, page, "default", "role:user") // what ends first without a use is the idle timeout
	wantText(t, w.see(c, "/console/users/8"), `30 minutes left</strong> <code>class:phone</code>`, `3 hours left</strong> <code>role:user</code>`)
	wantNoText(t, w.see(c, "/console/users/7"), "default", "class:")
	w.idleBy = policy.Scope{Class: "tv"}
	wantText(t, w.see(c, "/console/account"), `1 hour <code>class:tv</code>`)
}

// TestClassesThatLoginsHaveAreOffered: a login keeps its class when the policy no longer has
// it. It counts as that class on the overview, and is found under it.
func TestClassesThatLoginsHaveAreOffered(t *testing.T) {
	w := newWorld(t)
	w.populate(4).onDevices()
	w.policies.inForce.Classes = []string{"other", "phone"}
	for i := range w.policies.logins {
		w.policies.logins[i].Class = map[bool]string{true: "tv", false: "phone"}[i < 3]
	}
	w.run()
	wantIn(t, w.home(""), "Phone: 97", "TV: 3")
	c := w.enter()
	page := w.see(c, "/console/logins")
	wantText(t, page, `<option value="phone">`, `<option value="tv">TV</option>`)
	wantNoText(t, page, `<option value="web">`)
	wantText(t, w.see(c, "/console/logins?device_class=tv"), `<option value="tv" selected>TV</option>`, "in the hall")
	wantText(t, w.see(c, "/console/logins?device_class=gone"), `<option value="gone" selected>gone</option>`) // the next page keeps it
}
