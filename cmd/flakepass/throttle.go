package main

import (
	"context"
	"log/slog"

	"github.com/flakepass/flakepass/internal/config"
	"github.com/flakepass/flakepass/internal/gormstore"
	"github.com/flakepass/flakepass/internal/limit"
	"github.com/flakepass/flakepass/internal/policy"
	"github.com/flakepass/flakepass/internal/telemetry"
	"github.com/flakepass/flakepass/internal/throttle"
	"github.com/flakepass/flakepass/internal/throttle/memlimit"
	"github.com/flakepass/flakepass/internal/throttle/redislimit"
)

// buckets is how many limits an instance keeps count of; some 40 MB.
const buckets = 200_000

// gate bounds what strangers may try: in Redis, where all instances count
// together, if there is one, and in this process.
func gate(ctx context.Context, cfg config.Config, db *gormstore.DB, common sharedTier, rule *policy.Live, log *slog.Logger, metrics *telemetry.Metrics) (*throttle.Gate, error) {
	key, err := (&gormstore.Settings{DB: db}).CacheKey(ctx)
	if err != nil {
		return nil, err
	}
	near, err := memlimit.New(buckets)
	if err != nil {
		return nil, err
	}
	g := &throttle.Gate{
		Store: near, Limits: func() *limit.Limits { return &rule.Current().Limits }, Key: key,
		Known:   &gormstore.Places{DB: db, Key: key},
		Refused: metrics.Throttled(),
		Unremembered: func(ctx context.Context, err error) {
			log.WarnContext(ctx, "place of a login not noted; its owner may have to wait there if the account is attacked", "err", err)
		},
	}
	if common.rdb != nil {
		g.Store = redislimit.New(common.rdb, near, log)
	}
	if !cfg.Throttle {
		log.WarnContext(ctx, "attempts to log in and to register, and questions of services, are not limited (FLAKEPASS_THROTTLE=off)")
		none := &limit.Limits{}
		g.Limits = func() *limit.Limits { return none }
	}
	return g, nil
}
