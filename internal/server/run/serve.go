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
	"strings"
	"sync"
	"time"

	"github.com/flakepass/flakepass/api"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/firstadmin"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/release"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// Serve builds the system, from the database up, and runs it until ctx ends.
// started, if not nil, is told the addresses once requests are answered.
func Serve(ctx context.Context, cfg config.Config, out, errs io.Writer, started func(public, ops string)) error {
	start := time.Now()
	defer runtime.KeepAlive(spacious(os.LookupEnv))
	log := OfInstance(telemetry.NewLog(errs, cfg.LogFormat, cfg.LogLevel))
	metrics := telemetry.NewMetrics(release.Version())

	// What runs beside the requests stops after the last of them was answered.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()

	// What is kept.
	db, err := openDatabase(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { stop(); running.Wait(); _ = db.Close() }()
	kept := &sqlstore.Sessions{DB: db}
	users := &sqlstore.Users{DB: db}

	// The rule, and the numbers.
	rule, err := policy.NewLive(ctx, &sqlstore.Settings{DB: db})
	if err != nil {
		return err
	}
	ids, closeLender, err := OpenWorker(ctx, cfg, db, log, true, &workerLog{log: log})
	if err != nil {
		return err
	}
	defer func() { stop(); running.Wait(); closeLender() }()
	metrics.Worker(workerMetrics(ids))
	running.Go(func() { giveBack(work, ids, log.Warn) })
	counts := newCounts(db, ids, log)
	running.Go(func() { counts.Run(work) })
	tally := newTally(db, ids, log, metrics)
	running.Go(func() { tally.Run(work) })

	// The tiers in front of what is kept, nearest last.
	tiers, err := stack(ctx, cfg, db, kept, rule, log, metrics, tally)
	if err != nil {
		return err
	}
	defer func() { stop(); running.Wait(); tiers.close() }()
	tiers.run(work, &running)

	// The life of a session: how it begins, who it is, how it ends.
	engine, closeEngine := newEngine(ctx, cfg, log, metrics)
	defer closeEngine()
	hasher, err := NewHasher(cfg, engine)
	if err != nil {
		return err
	}
	var unread func()
	if cfg.BreachedPasswords != "" {
		unread = metrics.BreachedUnread()
	}
	stolen, closeList, err := OpenBreached(cfg, log, unread)
	if err != nil {
		return err
	}
	defer closeList()
	sessions := tiers.service(cfg.RevocationBound, bookOf(cfg, kept, ids, rule), ids, rule)
	accounts := &account.Service{
		Users: users, Hasher: hasher, Breached: stolen, IDs: ids, Now: time.Now,
		RehashFailed: func(ctx context.Context, err error) {
			log.WarnContext(ctx, "password hash not renewed after a login", "err", err)
		},
	}
	factors, err := newFactors(ctx, cfg, db, ids, log, metrics)
	if err != nil {
		return err
	}
	// How it is forgotten.
	sweeper, err := NewSweeper(cfg, db, rule, ids, log)
	if err != nil {
		return err
	}
	defer func() { stop(); running.Wait(); sweeper.Close() }()
	sweeper.count(metrics)
	counts.watch(sweeper.Sweeper)
	events := Retention(cfg, db, log)
	sweeper.After = func(ctx context.Context) {
		events.AfterSweep(ctx)
		clearGuards(ctx, db, log)
	}
	running.Go(func() { sweeper.Run(work) })

	// The door.
	limits, err := gate(ctx, cfg, db, tiers.common, rule, log, metrics)
	if err != nil {
		return err
	}
	own := &login.Service{
		Accounts: accounts, Newcomers: accounts, Users: users, Proofs: kept, Links: users,
		First:    &firstadmin.Users{Named: users, DB: db.SQL(), Dialect: db.Dialect(), Row: sqlstore.EventRow},
		Sessions: sessions, Revocations: &operator.Revocations{Sessions: sessions, Book: kept, IDs: ids, Log: log}, Store: tiers.near,
		Codes: factors, Factors: factors, Attempts: limits, Sources: limits, Refusals: tally, Counts: &counts.Counter,
		IDs: ids, Now: time.Now, Log: log,
	}
	var forward flakepass.ForwardKey
	if !cfg.ForwardKey.IsZero() {
		if forward, err = flakepass.NewForwardKey(cfg.ForwardKey.Reveal()); err != nil {
			return fmt.Errorf("serve: FLAKEPASS_FORWARD_KEY: %w", err)
		}
	}
	desk := NewOperatorDesk(db, tiers.near, rule, hasher, ids, tiers.clock)
	desk.Sessions.Log, desk.Sessions.Here = log, tiers.feed
	desk.Users.Breached = stolen
	ready := &readiness{db: db, ids: ids}
	report := &reporting{id: fleet.NewID(), start: start, cfg: cfg, ids: ids, tiers: tiers, metrics: metrics, ready: ready,
		evicts: &eviction{common: tiers.common, log: log}}
	handler, err := httpapi.New(httpapi.Options{ //nolint:contextcheck // requests bring a context of their own
		Own: own, Sessions: sessions, Quota: limits,
		Policies: PoliciesOf(db, ids, rule, log), Events: EventsOf(db), Sightings: tally,
		People:       desk.people(),
		Sweeps:       sweeper,
		FactorStates: factors, AdminsNeedFactor: cfg.SecondFactor == config.SecondFactorAdmins,
		Instances:   &sqlstore.Instances{DB: db},
		Recognition: recognition{sessions, rule, tiers}, News: tiers.news,
		Ready:            func(ctx context.Context) []string { return fleet.Sentences(append(ready.reasons(ctx), unfit(ids)...)) },
		Warnings:         report.evicts.warnings,
		RegistrationOpen: cfg.Registration == config.RegistrationOpen, TokenHeader: cfg.TokenHeader,
		ForwardKey: forward, Bound: cfg.RevocationBound, PublicURL: cfg.PublicURL, TrustedProxies: cfg.TrustedProxies, Spec: api.Spec(), Log: log,
	})
	if err != nil {
		return err
	}
	console := newConsole(consoleParts{
		cfg: cfg, log: log, db: db, users: users, ids: ids, hasher: hasher, rule: rule, tiers: tiers, metrics: metrics,
		sessions: sessions, ready: ready, start: start,
		desk: desk, sweeps: sweeper, instance: report.id, tally: tally, own: own, factors: factors,
	})
	running.Go(func() { console.Run(work) })
	doors, err := open(ctx, cfg, split(handler, console.Handler()), opsHandler(handler, metrics.Handler()), log) //nolint:contextcheck // as above
	if err != nil {
		return err
	}
	defer tally.Close(context.WithoutCancel(ctx)) // after the last request, and before what mints the IDs is gone
	defer doors.cut()
	link, err := console.SetupLink(ctx, doors.scheme()+"://"+dialable(doors.public.Addr()))
	if err != nil {
		return err
	}
	report.evicts.look(ctx)
	failed := doors.serve(&running)
	running.Go(func() { report.run(work, db, log) })
	running.Go(func() { doors.renew(work, log, metrics) })
	greet(out, greeting{
		scheme: doors.scheme(), took: time.Since(start), public: dialable(doors.public.Addr()), ops: dialable(doors.ops.Addr()),
		database: Place(cfg), redis: tiers.common.greet(ctx, cfg.RevocationBound, log), worker: ids.Number(), setup: link,
	})
	if started != nil {
		started(doors.public.Addr().String(), doors.ops.Addr().String())
	}

	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.InfoContext(ctx, "stopping: no new requests; answering those that came")
	ready.draining.Store(true)
	return doors.drain(context.WithoutCancel(ctx), cfg.ShutdownTimeout)
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
