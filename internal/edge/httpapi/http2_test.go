package httpapi_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestLargeBodyEndsNoSharedConnection: over HTTP/2 a proxy sends everybody's
// requests on one connection, and one of them must not end it for the others.
func TestLargeBodyEndsNoSharedConnection(t *testing.T) {
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(handler(t, &world{}, nil))
	s.EnableHTTP2 = true
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.StartTLS()
	defer s.Close()
	for range 5 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/login", strings.NewReader(strings.Repeat("a", 9000)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge || resp.ProtoMajor != 2 {
			t.Fatalf("got %s %s", resp.Proto, resp.Status)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("five large bodies took %d connections, want 1", n)
	}
}
