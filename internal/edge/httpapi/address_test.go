package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// TestAddressBehindAProxyIsOneForLimitsAndLog: and two headers that disagree are
// logged for the operator, once.
func TestAddressBehindAProxyIsOneForLimitsAndLog(t *testing.T) {
	for _, c := range []struct {
		header   http.Header
		from     string
		warnings int
	}{
		{http.Header{"X-Forwarded-For": {"6.6.6.6, 192.0.2.1:5"}}, "192.0.2.1", 0},
		{http.Header{"Forwarded": {`for=6.6.6.6`, `for="[2001:db8::1]:5"`}}, "2001:db8::1", 0},
		{http.Header{"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=6.6.6.6"}}, "10.0.0.7", 1},
		{http.Header{"X-Real-Ip": {"6.6.6.6"}}, "10.0.0.7", 0},
	} {
		var log bytes.Buffer
		w := &world{}
		h := handler(t, w, func(o *httpapi.Options) {
			o.Log, o.TrustedProxies = slog.New(slog.NewTextHandler(&log, nil)), []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		})
		for range 2 {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/login", strings.NewReader(`{"username":"ada","password":"x"}`))
			req.RemoteAddr, req.Header = "10.0.0.7:5", c.header.Clone()
			req.Header.Set("Content-Type", "application/json")
			h.ServeHTTP(httptest.NewRecorder(), req)
		}
		if len(w.tries) != 2 || w.tries[0].Address.String() != c.from {
			t.Errorf("%v: the limits see %v, want %s twice", c.header, w.tries, c.from)
		}
		if n := strings.Count(log.String(), " from="+c.from+" "); n != 2 {
			t.Errorf("%v: the log has %s %d times, want 2\n%s", c.header, c.from, n, &log)
		}
		if n := strings.Count(log.String(), "name different clients"); n != c.warnings {
			t.Errorf("%v: %d warnings, want %d\n%s", c.header, n, c.warnings, &log)
		}
	}
}

// TestUnconfiguredProxyIsLoggedOnce: behind one, all clients share the
// limits of one address, and nothing else says so.
func TestUnconfiguredProxyIsLoggedOnce(t *testing.T) {
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
