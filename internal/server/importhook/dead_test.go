//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package importhook

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

	"github.com/flakepass/flakepass/internal/domain/account"
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

// TestDeadConnectionIsReplaced: HTTP/2 sends all questions over one connection. If that dies without a word, the
// next question after some seconds goes over another one.
func TestDeadConnectionIsReplaced(t *testing.T) {
	lent := httptest.NewTLSServer(nil)                                                   // for its certificate
	config, trust := lent.TLS, lent.Client().Transport.(*http.Transport).TLSClientConfig //nolint:forcetypeassert // New and httptest make these
	lent.Close()
	synctest.Test(t, func(t *testing.T) {
		listener, served := make(pipes), make(chan error, 1)
		server := &http.Server{TLSConfig: &tls.Config{Certificates: config.Certificates}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				t.Errorf("asked by %s", r.Proto)
			}
			w.Header().Set("Content-Type", "application/json")
			says(`{"result":"right"}`)(w, r)
		})}
		go func() { served <- server.ServeTLS(listener, "", "") }()
		h := New(Options{URL: "https://example.com/", Now: time.Now, Counted: func(string) {}, Failed: func(error) {}, Left: func(error) {}})
		kept := h.Client.Transport.(*http.Transport) //nolint:forcetypeassert // as above
		kept.TLSClientConfig = trust
		var last *atomic.Bool
		kept.DialContext = func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			listener <- there
			last = new(atomic.Bool)
			return line{here, last}, nil
		}
		ask := func() error {
			_, err := h.Ask(t.Context(), stranger, account.Question{Username: "ada"})
			return err
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		last.Store(true)
		if ask() == nil {
			t.Error("an answer over a dead connection")
		}
		time.Sleep(2 * patience)
		if err := ask(); err != nil {
			t.Errorf("after a dead connection: %v", err)
		}
		h.Client.CloseIdleConnections()
		close(listener)
		_ = server.Close()
		<-served
	})
}
