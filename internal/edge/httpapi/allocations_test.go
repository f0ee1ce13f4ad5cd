package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// TestHotRoutesAllocateLittle: what a request allocates is collected again while others
// wait. The counts are those of all code between the server of net/http and the verifier,
// with the map of headers, and with the race detector, which makes two or three more.
func TestHotRoutesAllocateLittle(t *testing.T) {
	h := handler(t, &world{}, func(o *httpapi.Options) {
		o.Sessions = flakepass.VerifierFunc(func(context.Context, flakepass.Token) (flakepass.Identity, error) { return who, nil })
	})
	token := flakepass.NewToken(who.SessionID).Reveal()
	for _, c := range []struct {
		path, token string
		status      int
		most        float64
	}{
		{"/v1/me", token, 200, 13},
		{"/v1/verify", token, 200, 13},
		{"/v1/verify", token[:30], 401, 15},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
		r.Header.Set("Authorization", "Bearer "+c.token)
		answer := httptest.NewRecorder()
		if h.ServeHTTP(answer, r.Clone(t.Context())); answer.Code != c.status {
			t.Fatalf("%s: %d, want %d", c.path, answer.Code, c.status)
		}
		w := &discard{}
		if n := testing.AllocsPerRun(200, func() {
			delete(r.Header, "X-Request-Id")
			w.h = http.Header{} // as net/http makes one for each request
			h.ServeHTTP(w, r)
		}); n > c.most {
			t.Errorf("%s, %d: %v allocations, want at most %v", c.path, c.status, n, c.most)
		}
	}
}
