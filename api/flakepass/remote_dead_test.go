package flakepass

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A pipes is a listener for connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A line loses what is written to it once it is dead, as a router does that has forgotten it.
type line struct {
	net.Conn
	dead *atomic.Bool
}

func (l line) Write(b []byte) (int, error) {
	if l.dead.Load() {
		return len(b), nil
	}
	return l.Conn.Write(b)
}

// TestDeadConnectionIsReplaced: HTTP/2 sends all calls over one connection. If that dies without a word,
// the calls after some seconds go over another one.
func TestDeadConnectionIsReplaced(t *testing.T) {
	lent := httptest.NewTLSServer(nil)                                                   // for its certificate
	config, trust := lent.TLS, lent.Client().Transport.(*http.Transport).TLSClientConfig //nolint:forcetypeassert // httptest makes it
	lent.Close()
	synctest.Test(t, func(t *testing.T) {
		listener, served := make(pipes), make(chan error, 1)
		server := &http.Server{TLSConfig: &tls.Config{Certificates: config.Certificates}, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				t.Errorf("asked by %s", r.Proto)
			}
		})}
		go func() { served <- server.ServeTLS(listener, "", "") }()
		const timeout = 2 * time.Second
		own := clientOf(nil, timeout)
		kept := own.Transport.(*http.Transport) //nolint:forcetypeassert // a clone of the default one
		kept.TLSClientConfig = trust
		var last *atomic.Bool
		kept.DialContext = func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			listener <- there
			last = new(atomic.Bool)
			return line{here, last}, nil
		}
		call := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://example.com/", nil)
			if err != nil {
				return err
			}
			resp, err := own.Do(r)
			if err != nil {
				return err
			}
			return resp.Body.Close()
		}
		if err := call(); err != nil {
			t.Fatal(err)
		}
		last.Store(true)
		if call() == nil {
			t.Error("an answer over a dead connection")
		}
		time.Sleep(2 * timeout) //nolint:forbidigo // of the bubble's clock
		if err := call(); err != nil {
			t.Errorf("after a dead connection: %v", err)
		}
		own.CloseIdleConnections()
		close(listener)
		_ = server.Close()
		<-served
	})
}
