package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What takes a form only is no page to come back to after a login: a browser that
// is sent there is answered that the method is wrong.
func TestFormsAreNoPagesToComeBackTo(t *testing.T) {
	for _, p := range []string{
		codePath, logoutPath, "/console/language", expiryPath + "/revert", loginsPath + "/end", loginsPath + "/end-all",
		usersPath + "/7/reset", usersPath + "/7/reset/withdraw", usersPath + "/7/second-factor",
		usersPath + "/7/logout", usersPath + "/7/resets/withdraw",
	} {
		if to := safePath(p); to != homePath {
			t.Errorf("%s leads to %s", p, to)
		}
	}
	if p := usersPath + "/7"; safePath(p) != p {
		t.Errorf("%s leads to %s", p, safePath(p))
	}
}

// TestRouterSaysWhatIsAPage: a form that is added to the router is none either.
func TestRouterSaysWhatIsAPage(t *testing.T) {
	ui := New(Options{})
	h, forms := ui.Handler(), 0
	for _, pattern := range ui.Paths() {
		p := strings.NewReplacer("{$}", "", "{id}", "7", "{file}", "mark.svg").Replace(pattern)
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(http.MethodPut, p, nil))
		if allow := answer.Header().Get("Allow"); strings.Contains(allow, "GET") {
			continue
		} else if forms++; allow != "POST" {
			t.Errorf("%s allows %q", p, allow)
		}
		if to := safePath(p); to != homePath {
			t.Errorf("%s leads to %s", p, to)
		}
	}
	if forms < 10 {
		t.Errorf("%d forms", forms)
	}
}
