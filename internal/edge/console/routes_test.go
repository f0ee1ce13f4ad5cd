package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/edge/verb"
)

// forAll are the pages that need no login. All others are for admins.
var forAll = map[string]bool{
	"/console/setup": true, "/console/login": true, "/console/login/code": true, "/console/login/room": true, "/console/logout": true,
	"/console/language": true, "/console/password": true, "/console/assets/{file}": true,
}

// TestEveryPageIsForAdmins but those of forAll: the paths are those of the router.
func TestEveryPageIsForAdmins(t *testing.T) {
	w := newWorld(t)
	c := w.enter()
	// Nothing is behind the pages: one that is reached panics, or shows something.
	w.ui.People.Users, w.ui.People.Sessions = struct{ verb.Users }{}, struct{ verb.Sessions }{}
	w.ui.Own, w.ui.People.Factors, w.ui.People.Resets = &login.Service{}, struct{ verb.Factors }{}, struct{ verb.Resets }{}
	w.ui.People.Open, w.ui.People.Keys = struct{ verb.OpenResets }{}, struct{ verb.Keys }{}
	w.h = w.ui.Handler()
	paths := w.ui.Paths()
	if len(paths) < 20 {
		t.Fatalf("only %d pages: %v", len(paths), paths)
	}
	served := map[string]bool{}
	for _, path := range paths {
		served[path] = true
		if forAll[path] {
			continue
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for _, role := range []account.Role{"", account.RoleUser, account.RoleService, "Admin"} {
				w.role = role
				cookie := c
				if role == "" {
					cookie = nil
				}
				if got := w.reach(method, path, cookie); got != "" {
					t.Errorf("%s %s as %q: %s, want the login page", method, path, role, got)
				}
			}
		}
	}
	for path := range forAll {
		if !served[path] {
			t.Errorf("%s is no page", path)
		}
	}
}

// reach says what was reached, or "" if the answer leads to the login page, or the
// page does not have this method.
func (w *world) reach(method, path string, cookie *http.Cookie) (what string) {
	defer func() {
		if recover() != nil {
			what = "the page"
		}
	}()
	path = strings.NewReplacer("{id}", "8", "{$}", "").Replace(path)
	r := httptest.NewRequest(method, path, strings.NewReader(""))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if cookie != nil {
		r.AddCookie(cookie)
	}
	page := w.do(r)
	if page.Code == http.StatusMethodNotAllowed || page.Code == http.StatusSeeOther && strings.HasPrefix(page.Header().Get("Location"), "/console/login?") {
		return ""
	}
	return page.Result().Status
}
