package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/connlimit"
	"github.com/flakepass/flakepass/internal/server/keypair"
	"github.com/flakepass/flakepass/internal/server/release"
)

// newServer bounds what one client can hold on to.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	speaks := &http.Protocols{}
	speaks.SetHTTP1(true)
	speaks.SetHTTP2(true)
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		Protocols:         speaks,
		// Go counts what a client opens and cancels as open until it has ended here,
		// so a flood of cancelled requests (CVE-2023-44487) waits for its own.
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          100,
			MaxReadFrameSize:              16 << 10,
			MaxReceiveBufferPerConnection: 256 << 10,
			MaxReceiveBufferPerStream:     64 << 10,
			SendPingTimeout:               30 * time.Second,
			WriteByteTimeout:              15 * time.Second,
		},
		// "OPTIONS *" is answered like every other request.
		DisableGeneralOptionsHandler: true,
	}
}

func opsHandler(api, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.Handle("GET /healthz", api)
	mux.Handle("GET /readyz", api)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store") // also for what the router refuses by itself
		mux.ServeHTTP(w, r)
	})
}

// ports are the two ports, and the servers that answer there.
type ports struct {
	public, ops net.Listener
	servers     [2]*http.Server // of public and ops
	pair        *keypair.Pair   // nil without TLS
	underWay    atomic.Int64    // requests, on both
}

// scheme is that of the public port's URLs.
func (p *ports) scheme() string {
	if p.pair != nil {
		return "https"
	}
	return "http"
}

// open opens both ports, or none.
func open(ctx context.Context, cfg config.Config, pair *keypair.Pair, public, ops http.Handler, log *slog.Logger) (*ports, error) {
	p := &ports{pair: pair}
	p.servers = [2]*http.Server{newServer(p.counted(public), log), newServer(p.counted(ops), log)}
	p.servers[0].Protocols.SetUnencryptedHTTP2(cfg.H2C && pair == nil)
	if pair != nil {
		p.servers[0].TLSConfig = p.pair.Config()
		p.servers[0].Handler = overTLSOnly(p.servers[0].Handler)
	}
	var err error
	if p.public, err = listen(ctx, cfg.Listen, "FLAKEPASS_LISTEN"); err != nil {
		return nil, err
	}
	limit := connlimit.New(connections(ctx, cfg.MaxConnections, log), peers(cfg.TrustedProxies))
	p.public, p.servers[0].ConnState = limit.Listen(p.public), limit.ConnState
	if p.ops, err = listen(ctx, cfg.OpsListen, "FLAKEPASS_OPS_LISTEN"); err != nil {
		_ = p.public.Close()
		return nil, err
	}
	return p, nil
}

// peers says from which network a connection comes, and that all but trusted proxies
// are bound to their share of the connections.
func peers(trusted []netip.Prefix) func(net.Addr) (string, bool) {
	return func(a net.Addr) (string, bool) {
		from, err := netip.ParseAddrPort(a.String())
		if err != nil {
			return a.String(), true
		}
		ip := from.Addr().Unmap().WithZone("")
		proxy := slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(ip) })
		return ratelimit.Network(ip).String(), !proxy
	}
}

// serve answers requests in the background. The channel gets the error of a port
// that has failed.
func (p *ports) serve(running *sync.WaitGroup) <-chan error {
	failed := make(chan error, len(p.servers))
	running.Go(func() {
		if p.pair != nil {
			failed <- p.servers[0].ServeTLS(p.public, "", "")
			return
		}
		failed <- p.servers[0].Serve(p.public)
	})
	running.Go(func() { failed <- p.servers[1].Serve(p.ops) })
	return failed
}

// drain lets the requests under way finish, for at most that long. The public
// port goes first, so that the other can say meanwhile that this instance is
// stopping. A connection that was opened ahead of time, and has brought no request, is waited for
// as well, because one may be on its way, and then closed.
func (p *ports) drain(ctx context.Context, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for _, s := range p.servers {
		err := s.Shutdown(ctx)
		if late := errors.Is(err, context.DeadlineExceeded); late && p.underWay.Load() == 0 {
			continue
		} else if late {
			return fmt.Errorf("requests were still under way %v after the stop (FLAKEPASS_SHUTDOWN_TIMEOUT) and were cut off: %w", grace, err)
		}
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	}
	return nil
}

// cut closes both ports and all connections.
func (p *ports) cut() {
	for _, s := range p.servers {
		_ = s.Close()
	}
	_ = p.public.Close() // a server that never served does not know its port
	_ = p.ops.Close()
}

func listen(ctx context.Context, address, variable string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("cannot listen on %s: %w; set %s to a port of 1024 or more, or give the program the right to this one (AmbientCapabilities=CAP_NET_BIND_SERVICE of systemd)", address, err, variable)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; set %s to another address, or to port 0 for any free one", address, err, variable)
	}
	return l, nil
}

// dialable is an address at which this machine can reach the listener.
func dialable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// giveBack keeps the worker's range of ID time extended until ctx ends, and
// hands the rest of it back.
func giveBack(ctx context.Context, ids *idworker.Worker, warn func(string, ...any)) {
	if err := ids.Run(ctx); err != nil && ctx.Err() == nil {
		warn("worker number not extended in the background; each ID that needs it will wait", "err", err)
		<-ctx.Done()
	}
	if err := HandBack(ctx, ids); err != nil {
		warn("rest of the ID range not handed back; the next start leaves it unused", "err", err)
	}
}

// overTLSOnly forbids browsers to connect to this host without TLS for a year (RFC
// 6797).
func overTLSOnly(next http.Handler) http.Handler {
	value := []string{"max-age=31536000"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Strict-Transport-Security"] = value
		next.ServeHTTP(w, r)
	})
}

type greeting struct {
	scheme                string
	took                  time.Duration
	public, ops, database string
	redis                 string // its state
	worker                int
	setup                 string
}

// greet writes all of it at once: a program that reads the addresses from a pipe
// has the link too.
func greet(w io.Writer, g greeting) {
	setup := ""
	if g.setup != "" {
		setup = "  There is no admin yet. Open this once, within an hour, to create the first:\n  " + g.setup + "\n"
	}
	_, _ = fmt.Fprintf(w, `flakepass %s, ready in %v
  API       %s://%s   (contract: /openapi.yaml)
  ops       http://%s   (/metrics /healthz /readyz)
  database  %s   redis: %s   worker number: %d
%s`, release.Version(), g.took.Round(time.Millisecond), g.scheme, g.public, g.ops, g.database, g.redis, g.worker, setup)
}
