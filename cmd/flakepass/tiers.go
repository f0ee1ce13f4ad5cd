package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/config"
	"github.com/flakepass/flakepass/internal/gormstore"
	"github.com/flakepass/flakepass/internal/policy"
	"github.com/flakepass/flakepass/internal/session"
	"github.com/flakepass/flakepass/internal/session/feed"
	"github.com/flakepass/flakepass/internal/session/gatetier"
	"github.com/flakepass/flakepass/internal/session/memtier"
	"github.com/flakepass/flakepass/internal/session/redistier"
	"github.com/flakepass/flakepass/internal/session/touchtier"
	"github.com/flakepass/flakepass/internal/telemetry"
)

// tiers are the stores that stand in front of the user rows, and what keeps
// them informed.
type tiers struct {
	near     session.Store // what a request asks
	truth    session.Store // the user rows, through the gate
	feed     *feed.Feed
	redis    *redistier.Tier // nil if there is none
	accepted func(session.Witness)

	touches *touchtier.Tier
	memory  *memtier.Tier // nil if nothing is cached
	auditor *session.Auditor
	close   func() error
}

// stack puts the tiers together: the gate nearest to the rows, memory nearest
// to the request. Without Redis that tier is absent; with no room for entries
// nothing is cached at all.
func stack(ctx context.Context, cfg config.Config, db *gormstore.DB, kept *gormstore.Sessions, rule *policy.Live,
	log *slog.Logger, metrics *telemetry.Metrics) (*tiers, error) {
	t := &tiers{close: func() error { return nil }}
	// Half of the connections are for reading, half for those who log in and out.
	t.truth = gatetier.New(kept, db.SQL().Stats().MaxOpenConnections/2)
	t.touches = touchtier.New(t.truth, kept, rule, log)
	t.near = t.touches

	var err error
	t.feed, err = feed.New(feed.Options{
		From: kept, With: rule.Follow(log), Bound: cfg.RevocationBound, Log: log, Polled: metrics.Polled,
		Learn: func(news session.News) {
			if t.memory != nil {
				t.memory.Learn(news)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	metrics.Horizon(func() float64 { return session.Age(time.Now(), t.feed.Horizon()).Seconds() })
	t.auditor = session.NewAuditor(t.truth, 1000, metrics.StaleAccept)
	t.accepted = witness(metrics, t.auditor)
	if cfg.CacheEntries == 0 {
		return t, nil
	}

	if !cfg.Redis.IsZero() {
		t.redis, t.close, err = shared(ctx, cfg, db, t.near, redistier.Options{
			Feed: t.feed, Untold: metrics.Untold, Foreign: metrics.Foreign, Log: log,
		})
		if err != nil {
			return nil, err
		}
		t.near = t.redis
	}
	t.memory, err = memtier.New(t.near, memtier.Options{
		Entries: cfg.CacheEntries, Bound: cfg.RevocationBound, Feed: t.feed, Heard: metrics.Heard,
	})
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	closeRedis := t.close
	t.close = func() error { t.memory.Close(); return closeRedis() }
	t.near = t.memory
	return t, nil
}

// shared puts the tier that all instances share, which is configured, in front
// of next. Its key and bound are the deployment's.
func shared(ctx context.Context, cfg config.Config, db *gormstore.DB, next session.Store, o redistier.Options) (
	tier *redistier.Tier, closeRedis func() error, err error) {
	rdb, err := openRedis(cfg)
	if err != nil {
		return nil, nil, err
	}
	o.Bound = cfg.RevocationBound
	if o.Key, err = (&gormstore.Settings{DB: db}).CacheKey(ctx); err != nil {
		return nil, nil, errors.Join(err, rdb.Close())
	}
	tier, err = redistier.New(rdb, next, o)
	if err != nil {
		return nil, nil, errors.Join(err, rdb.Close())
	}
	return tier, rdb.Close, nil
}

// openRedis returns a client for the configured Redis. It does not connect.
func openRedis(cfg config.Config) (redis.UniversalClient, error) {
	r, err := config.ParseRedis(cfg.Redis.Reveal())
	if err != nil {
		return nil, fmt.Errorf("redis (FLAKEPASS_REDIS): %w", err)
	}
	return redistier.Open(redistier.Server{
		Addrs: r.Addrs, Master: r.Master, Cluster: r.Mode == config.RedisCluster, TLS: r.TLS,
		Username: r.Username, Password: r.Password.Reveal(), DB: r.DB,
	}), nil
}

// run keeps the tiers informed until ctx ends.
func (t *tiers) run(ctx context.Context, running *sync.WaitGroup) {
	// Until the first poll nothing that is cached is believed. If it fails, the
	// next may not.
	_ = t.feed.Poll(ctx)
	running.Go(func() { t.feed.Run(ctx) })
	running.Go(func() { t.touches.Run(ctx, time.Second) })
	running.Go(func() { t.auditor.Run(ctx) })
	if t.redis != nil {
		running.Go(func() { t.redis.Listen(ctx, t.memory.Note) })
	}
}

// witness counts who answered for the tokens that were accepted, and looks at
// some of them more closely.
func witness(metrics *telemetry.Metrics, auditor *session.Auditor) func(session.Witness) {
	const one = 64 // accepts to each whose age is observed
	count := [...]func(){
		session.FromDatabase: metrics.Accepts(session.FromDatabase.String()),
		session.FromRedis:    metrics.Accepts(session.FromRedis.String()),
		session.FromMemory:   metrics.Accepts(session.FromMemory.String()),
	}
	var n atomic.Uint64
	return func(w session.Witness) {
		count[w.Source]()
		if n.Add(1)%one == 0 {
			metrics.AcceptAge(session.Age(w.At, w.AsOf))
		}
		auditor.Accepted(w)
	}
}
