package httpapi_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
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

// TestRightCurrentPasswordIsNoGuess: a person who does not find a new password
// that is good enough has shown to know the current one, and need not wait.
func TestRightCurrentPasswordIsNoGuess(t *testing.T) {
	for err, known := range map[error]int{
		&account.InvalidError{Fields: []account.FieldError{{Field: "password", Code: account.CodeTooLong, Message: "must be shorter"}}}: 1,
		account.ErrWrong:        0,
		account.ErrBusy:         0,
		errors.New("no answer"): 0,
	} {
		w := &world{change: err}
		ask(t, handler(t, w, nil), "PUT", "/v1/me/password", `{"current_password":"a","new_password":"b"}`)
		if len(w.tries) != 1 || len(w.known) != known {
			t.Errorf("%v: %d attempts, %d known to be the owner's; want 1 and %d", err, len(w.tries), len(w.known), known)
		}
	}
}
