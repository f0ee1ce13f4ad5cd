package run

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestOperatorsPortServesThreePaths: metrics and health, by GET, and nothing for
// debugging.
func TestOperatorsPortServesThreePaths(t *testing.T) {
	t.Parallel()
	here := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	h := opsHandler(here, here)
	for path, served := range map[string]bool{
		"/metrics": true, "/healthz": true, "/readyz": true,
		"/": false, "/debug/pprof/": false, "/debug/pprof/heap": false, "/debug/vars": false, "/debug/": false, "/v1/me": false, "/v1/login": false,
		"/console/": false, "/openapi.yaml": false, "/metrics/": false, "/.git/config": false,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodTrace, http.MethodDelete} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
			want := http.StatusNotFound
			switch {
			case served && (method == http.MethodGet || method == http.MethodHead):
				want = http.StatusNoContent
			case served:
				want = http.StatusMethodNotAllowed
			}
			if w.Code != want {
				t.Errorf("%s %s: got %d, want %d", method, path, w.Code, want)
			}
		}
	}
}
