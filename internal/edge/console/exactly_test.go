package console_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestNoOddPathIsRedirected: to the API least of all, for a redirect takes a
// token along.
func TestNoOddPathIsRedirected(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/console/../v1/me", "/console//", "/console//login", "/console/./login", "/console/login/.", "/console/x/../login", "/console/.."} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r := httptest.NewRequest(method, "/console/", nil)
			r.URL.Path = path
			if got := w.do(r); got.Code != http.StatusNotFound || got.Header().Get("Location") != "" {
				t.Errorf("%s %s: got %d to %q", method, path, got.Code, got.Header().Get("Location"))
			}
		}
	}
}
