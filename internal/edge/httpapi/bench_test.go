package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// discard is a ResponseWriter that keeps nothing but the header.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkGuarded is what the HTTP side of a guarded request costs, without a
// network and with a Verifier that accepts every token.
func BenchmarkGuarded(b *testing.B) {
	h := handler(b, &world{}, nil)
	for _, path := range []string{"/v1/me", "/v1/verify"} {
		b.Run(path[4:], func(b *testing.B) {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil)
			r.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
			w := &discard{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.h)
				h.ServeHTTP(w, r)
			}
		})
	}
}

func TestBenchmarksRun(t *testing.T) { testenv.Benchmarks(t) }
