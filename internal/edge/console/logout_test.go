package console_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestEveryPageHasALogout: every page that an admin reads has the form that logs
// out. Pages that only a program reads have none.
func TestEveryPageHasALogout(t *testing.T) {
	w := newWorld(t)
	w.populate(2)
	w.giveResets()
	w.own = own{}
	c := w.enter()
	pages := 0
	for _, path := range w.ui.Paths() {
		if forAll[path] || strings.HasSuffix(path, ".csv") || strings.HasSuffix(path, ".ndjson") {
			continue
		}
		page := w.see(c, strings.NewReplacer("{id}", "8", "{$}", "").Replace(path))
		if page.Code == http.StatusMethodNotAllowed { // it takes a form only
			continue
		}
		wantStatus(t, page, 200)
		if pages++; !strings.Contains(page.Body.String(), `<form method="post" action="/console/logout"><button`) {
			t.Errorf("%s has no button to log out", path)
		}
	}
	if pages < 8 {
		t.Errorf("only %d pages were seen", pages)
	}
}

// TestLogoutClearsTheBrowser: of the cookie, and of whatever a page might have
// kept there.
func TestLogoutClearsTheBrowser(t *testing.T) {
	w := newWorld(t)
	page := w.sendForm(w.enter(), "/console/logout")
	wantStatus(t, page, 303)
	if got := page.Header().Get("Clear-Site-Data"); got != `"storage"` {
		t.Errorf("Clear-Site-Data is %q", got)
	}
	cookies := page.Result().Cookies()
	if len(cookies) != 1 || cookies[0].Name != cookieName || cookies[0].Value != "" || cookies[0].MaxAge >= 0 {
		t.Errorf("the cookies are %v, want that of the login without a value, and over", cookies)
	}
}

// TestScriptsKeepNothingInTheBrowser: nothing of what a page shows stays in it
// beside the cookies.
func TestScriptsKeepNothingInTheBrowser(t *testing.T) {
	keeps := regexp.MustCompile(`(?i)localStorage|sessionStorage|indexedDB|document\s*\.\s*cookie|cookieStore|caches\b|serviceWorker|sharedStorage|getDirectory`)
	files, err := filepath.Glob("assets/*.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	pages, err := filepath.Glob("pages/*.html")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, file := range append(files, pages...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := keeps.FindString(string(text)); m != "" {
			t.Errorf("%s has %s", file, m)
		}
	}
}

// leaving lets everybody go.
type leaving struct{ login.Leaving }

func (leaving) AskDeletion(context.Context, idworker.ID, audit.Event) ([]session.Session, error) {
	return nil, nil
}

// An act that ends the login of its user was done: the login page says that, and not that
// it is lost, as it does of a form that was sent after the end.
func TestWhatEndedTheLoginIsNotSaidToBeLost(t *testing.T) {
	const lost = "What you sent was not done."
	for _, tt := range []struct {
		path, said string
		form       []string
	}{
		{"/console/account", "The passphrase is changed.", []string{"do", "password", "current_password", passphrase, "new_password", "another tram sings at noon"}},
		{"/console/account", "your account will be deleted", []string{"do", "delete_me", "username", "ada"}},
		{"/console/logins/end-all", "All users are logged out, including you.", []string{"phrase", "log everybody out"}},
		{"/console/logout", "You have logged out.", nil},
	} {
		w := newWorld(t)
		w.populate(2)
		w.ui.Own.Grace, w.ui.Own.Leaving = time.Hour, leaving{}
		c := w.enter()
		page := w.sendForm(c, tt.path, tt.form...)
		wantStatus(t, page, 303)
		if gone := cookieOf(page, cookieName); gone == nil || gone.MaxAge >= 0 {
			t.Errorf("%s: the cookie stays", tt.said)
		}
		login := w.get(page.Header().Get("Location"))
		wantText(t, login, tt.said)
		wantNoText(t, login, lost)
	}
	w := newWorld(t)
	c := w.enter()
	w.verifyErr = flakepass.ErrReplaced
	wantText(t, w.get(w.sendForm(c, "/console/account", "do", "password").Header().Get("Location")), lost)
}
