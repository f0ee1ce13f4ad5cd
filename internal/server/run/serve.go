// Package run puts the server together, from the database up, and runs it. What a
// command needs of the same parts, it opens here too.
package run

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/release"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// Serve builds the system, from the database up, and runs it until ctx ends.
// started, if not nil, gets the addresses once requests are answered.
func Serve(ctx context.Context, cfg config.Config, out, errs io.Writer, started func(public, ops string)) error {
	defer runtime.KeepAlive(spacious(os.LookupEnv))
	s := &system{
		cfg: cfg, log: OfInstance(telemetry.NewLog(errs, cfg.LogFormat, cfg.LogLevel)), metrics: telemetry.NewMetrics(release.Version()),
		start: time.Now(), id: fleet.NewID(),
	}
	// What runs beside the requests stops after the last of them was answered, and
	// before what it uses is closed.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		stop()
		s.running.Wait()
		for _, end := range slices.Backward(s.ends) {
			end()
		}
	}()
	for _, build := range []func(ctx, work context.Context) error{s.checkFirst, s.beginHashing, s.openStores, s.stackTiers, s.openPasswords, s.startSweep, s.joinUseCases} {
		if err := build(ctx, work); err != nil {
			return err
		}
	}
	return s.answer(ctx, work, out, started)
}

// answer opens the ports, and answers requests until ctx ends or a port fails.
func (s *system) answer(ctx, work context.Context, out io.Writer, started func(public, ops string)) error {
	handler, err := s.api() //nolint:contextcheck // requests bring a context of their own
	if err != nil {
		return err
	}
	console := s.console()
	s.running.Go(func() { console.Run(work) })
	// The link of the first admin is made before a port is open, because in an open port a client waits.
	link, err := patiently(ctx, s.cfg.DatabaseWait, s.log, console.SetupPath)
	if err != nil {
		return err
	}
	s.evicts.look(ctx)
	ports, err := open(ctx, s.cfg, s.pair, split(handler, console.Handler()), opsHandler(handler, s.metrics.Handler()), s.log) //nolint:contextcheck // as above
	if err != nil {
		return err
	}
	defer s.collector.Close(context.WithoutCancel(ctx)) // after the last request, and before what mints the IDs is gone
	defer ports.cut()
	if link != "" {
		link = ports.scheme() + "://" + dialable(ports.public.Addr()) + link
	}
	failed := ports.serve(&s.running)
	reporter := &fleet.Reporter{Store: &sqlstore.Instances{DB: s.db}, ID: s.id, State: s.report, Log: s.log}
	s.running.Go(func() { reporter.Run(work) })
	s.running.Go(func() { ports.renew(work, s.log, s.metrics) })
	greet(out, greeting{
		scheme: ports.scheme(), took: time.Since(s.start), public: dialable(ports.public.Addr()), ops: dialable(ports.ops.Addr()),
		database: Place(s.cfg), redis: s.redis.greet(ctx), worker: s.ids.Number(), setup: link,
	})
	if started != nil {
		started(ports.public.Addr().String(), ports.ops.Addr().String())
	}

	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.log.InfoContext(ctx, "stopping: no new requests; answering those that came")
	s.ready.draining.Store(true)
	return ports.drain(context.WithoutCancel(ctx), s.cfg.ShutdownTimeout)
}

// split sends the console's paths to it and everything else to the API.
func split(api, console http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/console/") {
			console.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// counted knows how many requests are under way.
func (p *ports) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.underWay.Add(1)
		defer p.underWay.Add(-1)
		next.ServeHTTP(w, r)
	})
}
