package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/httpapi"
)

// TestProxyThatNobodyConfiguredIsLoggedOnce: behind one, everybody shares the
// limits of one address, and nothing else says so.
func TestProxyThatNobodyConfiguredIsLoggedOnce(t *testing.T) {
	for _, c := range []struct {
		peer, forwarded string
		trusted         []netip.Prefix
		warnings        int
	}{
		{"10.0.0.7:5", "192.0.2.1", nil, 1},
		{"127.0.0.1:5", "192.0.2.1", nil, 1},
		{"10.0.0.7:5", "192.0.2.1", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, 0},
		{"10.0.0.7:5", "", nil, 0},
		{"203.0.113.9:5", "192.0.2.1", nil, 0}, // a client's own invention
	} {
		var log bytes.Buffer
		h := handler(t, &world{}, func(o *httpapi.Options) {
			o.Log, o.TrustedProxies = slog.New(slog.NewTextHandler(&log, nil)), c.trusted
		})
		for range 3 {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/login", strings.NewReader(`{"username":"ada","password":"x"}`))
			req.RemoteAddr = c.peer
			req.Header.Set("Content-Type", "application/json")
			if c.forwarded != "" {
				req.Header.Set("X-Forwarded-For", c.forwarded)
			}
			h.ServeHTTP(httptest.NewRecorder(), req)
		}
		if n := strings.Count(log.String(), "FLAKEPASS_TRUSTED_PROXIES"); n != c.warnings {
			t.Errorf("from %s for %q: %d warnings, want %d\n%s", c.peer, c.forwarded, n, c.warnings, &log)
		}
	}
}
