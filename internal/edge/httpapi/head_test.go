package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// TestHeadIsGetWithoutTheBody: a probe that sends HEAD gets the status and the
// header that GET has.
func TestHeadIsGetWithoutTheBody(t *testing.T) {
	w := &world{}
	server := httptest.NewServer(handler(t, w, nil))
	defer server.Close()
	client := &http.Client{Transport: apitest.Transport(t, server.Client().Transport)}
	send := func(method, path string) (int, http.Header, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header, string(body)
	}
	for _, reasons := range [][]string{nil, {"stopping"}} {
		w.reasons = reasons
		for _, path := range []string{"/healthz", "/readyz"} {
			want, get, _ := send(http.MethodGet, path)
			status, head, body := send(http.MethodHead, path)
			if status != want || body != "" {
				t.Errorf("HEAD %s: got %d %q, want %d and no body", path, status, body, want)
			}
			for _, name := range []string{"Content-Type", "Cache-Control", "Retry-After"} {
				if head.Get(name) != get.Get(name) {
					t.Errorf("HEAD %s: %s is %q, want %q", path, name, head.Get(name), get.Get(name))
				}
			}
		}
	}
}
