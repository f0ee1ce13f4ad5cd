//nolint:forbidigo // the Sleep is in a synctest bubble, where time is the test's own
package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// TestBogusTokensWriteNoLines: who makes tokens up writes nothing into the log, or one line of a
// kind, or one a second.
func TestBogusTokensWriteNoLines(t *testing.T) {
	forged := &session.RefusedError{ID: 9, UserID: 7, Username: "zoë", Forged: true, Err: flakepass.ErrInvalid}
	for name, c := range map[string]struct {
		verify error
		text   string
		status int
		lines  int
	}{
		"malformed":        {nil, "fp_nonsense", 401, 0},
		"of nobody":        {flakepass.ErrInvalid, "", 401, 0},
		"of a living ID":   {forged, "", 401, 1},
		"of a slow server": {errors.New("waiting to ask"), "", 503, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				kept := &ledger{}
				collector := &audit.Collector{Store: kept, IDs: kept, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
				h := handler(t, &world{}, func(o *httpapi.Options) {
					o.Sessions = flakepass.VerifierFunc(func(context.Context, flakepass.Token) (flakepass.Identity, error) { return who, c.verify })
					o.Incidents, o.Log = collector, slog.New(slog.NewTextHandler(&log, nil))
				})
				for i := range 1000 {
					if i == 500 {
						time.Sleep(time.Second)
					}
					text := c.text
					if text == "" {
						text = flakepass.NewToken(flakepass.ID(i + 1)).Reveal()
					}
					r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/me", nil)
					r.Header.Set("Authorization", "Bearer "+text)
					w := httptest.NewRecorder()
					if h.ServeHTTP(w, r); w.Code != c.status {
						t.Fatalf("got %d, want %d", w.Code, c.status)
					}
				}
				collector.Close(t.Context())
				if got := strings.Count(log.String(), "\n"); got != c.lines || c.lines == 2 && !strings.Contains(log.String(), "unlogged_before=499") {
					t.Errorf("%d lines, want %d\n%.2000s", got, c.lines, &log)
				}
			})
		})
	}
}
