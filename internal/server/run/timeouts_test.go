package run

import (
	"log/slog"
	"net/http"
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
