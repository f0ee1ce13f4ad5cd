package run

import (
	"context"
	"log/slog"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/redisstore"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// limiter bounds the attempts of clients. Those at one account are counted in the
// database. Those of one place or network are counted in this process and, if
// configured, in Redis, for all instances together.
func limiter(ctx context.Context, cfg config.Config, db *sqlstore.DB, key []byte, common sharedTier, rule *policy.Live, log *slog.Logger, metrics *telemetry.Metrics) *ratelimit.Limiter {
	near := &memstore.Buckets{}
	g := &ratelimit.Limiter{
		Store: near, Limits: func() *limit.Limits { return &rule.Current().Limits }, Key: key,
		Records: &sqlstore.LoginRecords{DB: db},
		Refused: metrics.Throttled(),
		Unremembered: func(ctx context.Context, err error) {
			log.WarnContext(ctx, "what a login leaves for later ones not noted; its owner may have to wait at that place if the account is attacked", "err", err)
		},
	}
	if common.rdb != nil {
		g.Store = redisstore.NewBuckets(common.rdb, near, key, log)
	}
	if !cfg.Throttle {
		log.WarnContext(ctx, "attempts to log in and to register, and questions of services, are not limited (FLAKEPASS_THROTTLE=off)")
		none := &limit.Limits{}
		g.Limits = func() *limit.Limits { return none }
	}
	return g
}

// clearRequests deletes what is kept of requests of issuers that are not known again any more.
func clearRequests(ctx context.Context, kept *sqlstore.Sessions, log *slog.Logger) {
	if err := kept.ClearRequests(ctx); err != nil && ctx.Err() == nil {
		log.WarnContext(ctx, "old requests of issuers not deleted; the next sweep tries again", "err", err)
	}
}

// clearGuards deletes counts of attempts to log in that limit nothing any more.
func clearGuards(ctx context.Context, db *sqlstore.DB, log *slog.Logger) {
	if err := ratelimit.Clear(ctx, &sqlstore.LoginRecords{DB: db}); err != nil && ctx.Err() == nil {
		log.WarnContext(ctx, "old counts of attempts to log in not deleted; the next sweep tries again", "err", err)
	}
}
