package console_test

import (
	"errors"
	"html"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// next is where the page goes on, or "".
func next(page *httptest.ResponseRecorder) string {
	before, _, ok := strings.Cut(page.Body.String(), `" rel="next"`)
	if !ok {
		return ""
	}
	return html.UnescapeString(before[strings.LastIndex(before, `"`)+1:])
}

func TestUsersAndLoginsArePaged(t *testing.T) {
	w := newWorld(t)
	w.populate(70)
	c := w.enter()
	for _, first := range []string{"/console/users", "/console/users?name=user", "/console/logins"} {
		names, pages := map[string]bool{}, 0
		for path := first; path != "" && pages < 9; pages++ {
			page := w.see(c, path)
			wantStatus(t, page, 200)
			for _, part := range strings.Split(page.Body.String(), "<bdi>")[1:] {
				name, _, _ := strings.Cut(part, "<")
				names[name] = true
			}
			path = next(page)
		}
		if names["ada"] = true; len(names) != 70 || pages != 3 {
			t.Errorf("%s: %d names on %d pages", first, len(names), pages)
		}
	}
	wantText(t, w.see(c, "/console/users?name=nobody"), "No user has such a name.")
	wantStatus(t, w.see(c, "/console/users?after=x"), 400)
	wantStatus(t, w.see(c, "/console/logins?before=x"), 400)
}

func TestUserShowsWhatIsLeft(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(2)
	c := w.enter()
	// The admin has two logins, and looks with one of them.
	token, err := flakepass.ParseToken(c.Value)
	if err != nil {
		t.Fatal(err)
	}
	mine := crowd.logins[9000]
	mine.ID = session.IDOf(token)
	crowd.logins[mine.ID] = mine
	page := w.see(c, "/console/users/8")
	wantText(t, page, "user001", "<strong>30 minutes left</strong>", "<strong>3 hours left</strong>", `class="part" x="0" y="0" width="50"`, `width="75"`, "/console/audit?target=8")
	wantNoText(t, page, "This is you.")
	own := w.see(c, "/console/users/7")
	if n := strings.Count(own.Body.String(), "This is you."); n != 1 || strings.Count(own.Body.String(), `action="/console/logins/end"`) != 2 {
		t.Errorf("%d logins are the one that looks, want 1 of 2", n)
	}
	wantStatus(t, w.see(c, "/console/users/99"), 404)
	wantStatus(t, w.see(c, "/console/users/x"), 404)
}

func TestEndingALogin(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(2)
	c := w.enter()
	page := w.sendForm(c, "/console/logins/end", "id", "9001", "reason", "lost phone", "next", "/console/users/8")
	if page.Code != 303 || page.Header().Get("Location") != "/console/users/8?done=ended" || len(crowd.calls) != 1 || crowd.calls[0] != "end 9001 lost phone" {
		t.Fatalf("%d to %s, %v", page.Code, page.Header().Get("Location"), crowd.calls)
	}
	wantText(t, w.see(c, "/console/users/8?done=ended"), "The login has ended.", "Not logged in.")
	// To end what is over is no mistake, but nothing has ended.
	for _, id := range []string{"9001", "1"} {
		page = w.sendForm(c, "/console/logins/end", "id", id, "next", "/console/logins")
		wantStatus(t, page, 303)
		again := w.see(c, page.Header().Get("Location"))
		wantText(t, again, "Nothing was changed: that login is over already")
		wantNoText(t, again, "The login has ended.")
	}
	crowd.err = session.ErrUnpublished
	if page := w.sendForm(c, "/console/logins/end", "id", "9000", "next", "https://evil.example/"); page.Header().Get("Location") != "/console/?done=not_notified" {
		t.Errorf("leads to %s", page.Header().Get("Location"))
	}
	crowd.err = errors.New("disk on fire")
	page = w.sendForm(c, "/console/logins/end", "id", "9000")
	wantStatus(t, page, 503)
	wantNoText(t, page, "disk on fire")
}

func TestRoleNeedsThePassword(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(2)
	c := w.enter()
	wantNoText(t, w.see(c, "/console/users/8"), `name="confirm_password"`)
	w.unproven = true
	for password, says := range map[string]string{"": "Nothing was done yet.", "not the right one": "The passphrase is wrong."} {
		page := w.sendForm(c, "/console/users/8", "do", "role", "role", "admin", "reason", "new job", "confirm_password", password)
		wantStatus(t, page, 403)
		wantText(t, page, says, `name="confirm_password"`, `value="admin" selected`, `value="new job"`)
		wantNoText(t, page, "not the right one")
		if n := strings.Count(page.Body.String(), `name="confirm_password"`); n != 1 {
			t.Errorf("%d forms ask for the passphrase", n)
		}
	}
	if len(crowd.calls) != 0 {
		t.Fatalf("done without the password: %v", crowd.calls)
	}
	wantStatus(t, w.sendForm(c, "/console/users/8", "do", "role", "role", "service", "confirm_password", passphrase, "reason", "new job"), 303)
	if crowd.users[1].Role != account.RoleService || crowd.calls[0] != "role user001 service new job" {
		t.Errorf("%v", crowd.calls)
	}
	page := w.sendForm(c, "/console/users/7", "do", "role", "role", "user", "confirm_password", passphrase)
	wantStatus(t, page, 409)
	wantText(t, page, "This is the last enabled admin.")
	wantStatus(t, w.sendForm(c, "/console/users/8", "do", "nothing"), 400)
	wantStatus(t, w.sendForm(c, "/console/users/99", "do", "disabled"), 404)
}

func TestDisablingAndEnabling(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(2)
	c := w.enter()
	wantStatus(t, w.sendForm(c, "/console/users/8", "do", "disabled", "reason", "left"), 303)
	wantText(t, w.see(c, "/console/users/8"), "disabled</span>", `value="enabled"`)
	wantStatus(t, w.sendForm(c, "/console/users/8", "do", "enabled"), 303)
	if len(crowd.calls) != 2 || crowd.calls[0] != "disabled user001 true left" || crowd.calls[1] != "disabled user001 false " {
		t.Errorf("%v", crowd.calls)
	}
}

func TestNewUsers(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(1)
	c := w.enter()
	page := w.sendForm(c, "/console/users", "username", "bob", "password", "short", "role", "user", "reason", "new here")
	wantStatus(t, page, 422)
	wantText(t, page, "Passphrase must have at least 15 characters", `value="bob"`, `value="new here"`, "<details class=\"sheet\" open>")
	w.unproven = true
	page = w.sendForm(c, "/console/users", "username", "bob", "password", passphrase, "role", "admin", "reason", "new here")
	wantStatus(t, page, 403)
	wantText(t, page, "Nothing was done yet.", `value="bob"`, `value="new here"`, `value="admin" selected`, `name="confirm_password"`)
	wantNoText(t, page, passphrase)
	wantStatus(t, w.sendForm(c, "/console/users", "username", "ada", "password", passphrase, "role", "user"), 409)
	if len(crowd.calls) != 0 {
		t.Fatalf("%v", crowd.calls)
	}
	page = w.sendForm(c, "/console/users", "username", "bob", "password", passphrase, "role", "admin", "confirm_password", passphrase)
	if page.Code != 303 || page.Header().Get("Location") != "/console/users/8?done=created" {
		t.Errorf("%d to %s", page.Code, page.Header().Get("Location"))
	}
}

func TestEverybodyNeedsTheWordsAndThePassword(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(3)
	c := w.enter()
	page := w.sendForm(c, "/console/logins/end-all", "phrase", "yes", "confirm_password", passphrase)
	wantStatus(t, page, 422)
	wantText(t, page, "No user was logged out.")
	wantStatus(t, w.sendForm(c, "/console/logins/end-all", "phrase", "log everybody out", "confirm_password", "x", "reason", "breach"), 403)
	if len(crowd.logins) != 3 {
		t.Fatal("logged out without the words and the password")
	}
	page = w.sendForm(c, "/console/logins/end-all", "phrase", " Log everybody  out", "confirm_password", passphrase, "reason", "breach")
	wantStatus(t, page, 303)
	wantText(t, w.get(page.Header().Get("Location")), "All users are logged out, including you.")
	if len(crowd.logins) != 0 || crowd.calls[0] != "end all breach" {
		t.Errorf("%v", crowd.calls)
	}
}
