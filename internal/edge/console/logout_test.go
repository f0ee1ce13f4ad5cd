package console_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
