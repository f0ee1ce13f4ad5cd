package run

import (
	"context"
	"log/slog"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/memlimit"
	"github.com/flakepass/flakepass/internal/store/redislimit"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// gate bounds what strangers may try: at each account in the database, and by
// place and network in Redis, where all instances count together, if there is one,
// and in this process.
func gate(ctx context.Context, cfg config.Config, db *sqlstore.DB, common sharedTier, rule *policy.Live, log *slog.Logger, metrics *telemetry.Metrics) (*ratelimit.Gate, error) {
	key, err := (&sqlstore.Settings{DB: db}).CacheKey(ctx)
	if err != nil {
		return nil, err
	}
	near := &memlimit.Store{}
	g := &ratelimit.Gate{
		Store: near, Limits: func() *limit.Limits { return &rule.Current().Limits }, Key: key,
		Records: &sqlstore.LoginRecords{DB: db},
		Refused: metrics.Throttled(),
		Unremembered: func(ctx context.Context, err error) {
			log.WarnContext(ctx, "what a login leaves for later ones not noted; its owner may have to wait at that place if the account is attacked", "err", err)
		},
	}
	if common.rdb != nil {
		g.Store = redislimit.New(common.rdb, near, key, log)
	}
	if !cfg.Throttle {
		log.WarnContext(ctx, "attempts to log in and to register, and questions of services, are not limited (FLAKEPASS_THROTTLE=off)")
		none := &limit.Limits{}
		g.Limits = func() *limit.Limits { return none }
	}
	return g, nil
}

// clearGuards deletes what was counted of attempts to log in and says nothing any
// longer.
func clearGuards(ctx context.Context, db *sqlstore.DB, log *slog.Logger) {
	if _, err := ratelimit.Clear(ctx, &sqlstore.LoginRecords{DB: db}); err != nil && ctx.Err() == nil {
		log.WarnContext(ctx, "old counts of attempts to log in not deleted; the next sweep tries again", "err", err)
	}
}
