package flakepass_test

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

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
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
	const patience = 5 * time.Second
	for name, callOf := range map[string]func(context.Context) (func() error, error){
		"Remote": func(ctx context.Context) (func() error, error) {
			own := flakepass.ClientOf(nil, patience)
			return func() error {
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
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
			}, nil
		},
		"client": func(ctx context.Context) (func() error, error) {
			c, err := client.New(client.Options{URL: "https://example.com"})
			return func() error { return c.Ready(ctx) }, err
		},
		"client with a limit": func(ctx context.Context) (func() error, error) {
			c, err := client.New(client.Options{URL: "https://example.com", HTTP: &http.Client{Timeout: time.Minute}})
			return func() error { return c.Ready(ctx) }, err
		},
	} {
		t.Run(name, func(t *testing.T) { deadConnectionIsReplaced(t, patience, callOf) })
	}
}

func deadConnectionIsReplaced(t *testing.T, patience time.Duration, callOf func(context.Context) (func() error, error)) {
	lent := httptest.NewTLSServer(nil)                                                   // for its certificate
	config, trust := lent.TLS, lent.Client().Transport.(*http.Transport).TLSClientConfig //nolint:forcetypeassert // httptest makes it
	lent.Close()
	standard := http.DefaultTransport
	defer func() { http.DefaultTransport = standard }()
	synctest.Test(t, func(t *testing.T) {
		listener, served := make(pipes), make(chan error, 1)
		server := &http.Server{TLSConfig: &tls.Config{Certificates: config.Certificates}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				t.Errorf("asked by %s", r.Proto)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"status":"ready"}`))
		})}
		go func() { served <- server.ServeTLS(listener, "", "") }()
		var last *atomic.Bool
		http.DefaultTransport = &http.Transport{
			TLSClientConfig: trust, ForceAttemptHTTP2: true, IdleConnTimeout: time.Hour,
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				listener <- there
				last = new(atomic.Bool)
				return line{here, last}, nil
			},
		}
		call, err := callOf(t.Context())
		if err == nil {
			err = call()
		}
		if err != nil {
			t.Fatal(err)
		}
		last.Store(true)
		start := time.Now()
		if call() == nil {
			t.Error("an answer over a dead connection")
		}
		if took := time.Since(start); took > 3*patience {
			t.Errorf("the call over the dead connection has taken %v", took)
		}
		if err := call(); err != nil {
			t.Errorf("after a dead connection: %v", err)
		}
		close(listener)
		_ = server.Close()
		<-served
	})
}
