package run

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/server/config"
)

// TestAConnectionWithoutARequestIsNoRequestUnderWay: a load balancer or a browser opens connections ahead of time. A stop
// reports requests that it has cut off, and no others.
func TestAConnectionWithoutARequestIsNoRequestUnderWay(t *testing.T) {
	for _, port := range []string{"public", "ops"} {
		for _, request := range []bool{false, true} {
			err := drained(t, port == "ops", request)
			if request && (err == nil || !strings.Contains(err.Error(), "requests were still under way")) || !request && err != nil {
				t.Errorf("%s, a request: %v; the stop says: %v", port, request, err)
			}
		}
	}
}

// drained is what a stop says while a port has a connection that has sent nothing and, or not, a request.
func drained(t *testing.T, ops, request bool) error {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	begun := make(chan struct{})
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(begun)
			<-ctx.Done()
		}
	})
	p, err := open(ctx, config.Config{Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", MaxConnections: 10}, nil, h, h, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer p.cut()
	defer end()
	p.serve(&running)
	address := p.public.Addr().String()
	if ops {
		address = p.ops.Addr().String()
	}
	silent, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	get := func(path string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
		if err != nil {
			return err
		}
		answer, err := new(http.Client).Do(r)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}
	if err := get("/"); err != nil { // the one before is accepted, too
		t.Fatal(err)
	}
	if request {
		running.Go(func() { _ = get("/slow") })
		<-begun
	}
	return p.drain(ctx, time.Millisecond)
}
