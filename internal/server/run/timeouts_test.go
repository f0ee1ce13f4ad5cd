package run

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestEveryWaitForAClientHasAnEnd: a client that is slow, or sends nothing, does not
// keep a connection of either port, and no client makes the server keep much for one.
func TestEveryWaitForAClientHasAnEnd(t *testing.T) {
	t.Parallel()
	s := newServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	for name, c := range map[string]struct{ got, most time.Duration }{
		"ReadHeaderTimeout":      {s.ReadHeaderTimeout, 10 * time.Second},
		"ReadTimeout":            {s.ReadTimeout, 30 * time.Second},
		"WriteTimeout":           {s.WriteTimeout, 30 * time.Second},
		"IdleTimeout":            {s.IdleTimeout, 2 * time.Minute},
		"HTTP2.SendPingTimeout":  {s.HTTP2.SendPingTimeout, time.Minute},
		"HTTP2.WriteByteTimeout": {s.HTTP2.WriteByteTimeout, 30 * time.Second},
	} {
		if c.got <= 0 || c.got > c.most {
			t.Errorf("%s is %v, want an end within %v", name, c.got, c.most)
		}
	}
	for name, c := range map[string]struct{ got, most int }{
		"MaxHeaderBytes":                      {s.MaxHeaderBytes, 64 << 10},
		"HTTP2.MaxConcurrentStreams":          {s.HTTP2.MaxConcurrentStreams, 250},
		"HTTP2.MaxReadFrameSize":              {s.HTTP2.MaxReadFrameSize, 1 << 20},
		"HTTP2.MaxReceiveBufferPerConnection": {s.HTTP2.MaxReceiveBufferPerConnection, 1 << 20},
		"HTTP2.MaxReceiveBufferPerStream":     {s.HTTP2.MaxReceiveBufferPerStream, 1 << 20},
	} {
		if c.got <= 0 || c.got > c.most {
			t.Errorf("%s is %d, want at most %d", name, c.got, c.most)
		}
	}
}

// TestHeadersEndBelow24KiB, as the documents say: net/http reads a buffer of 4 KiB beyond its
// limit, and another one of a request on a connection that was kept.
func TestHeadersEndBelow24KiB(t *testing.T) {
	t.Parallel()
	for _, two := range []bool{false, true} {
		s := httptest.NewUnstartedServer(nil)
		s.Config = newServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), slog.New(slog.DiscardHandler))
		s.EnableHTTP2 = two
		s.StartTLS()
		t.Cleanup(s.Close)
		for _, c := range []struct{ size, want int }{
			{24 << 10, http.StatusRequestHeaderFieldsTooLarge}, {15 << 10, http.StatusOK}, {24 << 10, http.StatusRequestHeaderFieldsTooLarge},
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X", strings.Repeat("x", c.size))
			got, err := s.Client().Do(r)
			if err != nil {
				if !two || c.want == http.StatusOK { // a client of HTTP/2 knows the limit, and sends nothing
					t.Errorf("a header of %d bytes: %v", c.size, err)
				}
				continue
			}
			_ = got.Body.Close()
			if got.StatusCode != c.want || (got.ProtoMajor == 2) != two {
				t.Errorf("%s, a header of %d bytes: %d, want %d", got.Proto, c.size, got.StatusCode, c.want)
			}
		}
	}
}
