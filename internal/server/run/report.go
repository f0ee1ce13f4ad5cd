package run

import (
	"context"
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/release"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/redistier"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// A reporting is what this instance tells the others, and people, of itself.
type reporting struct {
	id      string
	start   time.Time
	cfg     config.Config
	ids     *idworker.Worker
	tiers   *tiers
	metrics *telemetry.Metrics
	ready   *readiness
	evicts  *eviction
}

func (r *reporting) run(ctx context.Context, db *sqlstore.DB, log *slog.Logger) {
	(&fleet.Reporter{Store: &sqlstore.Instances{DB: db}, ID: r.id, State: r.report, Log: log}).Run(ctx)
}

// report is how this instance is doing, as far as it knows without asking the
// database: what the database does shows when the report is written.
func (r *reporting) report(ctx context.Context) fleet.Report {
	report := fleet.Report{
		Name: Holder(), Version: release.Version(), Worker: r.ids.Number(), Up: time.Since(r.start),
		Horizon: r.tiers.horizonAge(), Bound: r.cfg.RevocationBound, Answers: answersOf(r.metrics), Troubles: unfit(r.ids),
	}
	if r.ready.draining.Load() {
		report.Troubles = append(report.Troubles, fleet.Stopping)
	}
	if r.tiers.memory != nil {
		report.Remembered = r.tiers.memory.Size()
	}
	r.evicts.look(ctx)
	began := time.Now()
	report.Redis = r.tiers.common.health(ctx)
	report.RedisTook = time.Since(began)
	return report
}

// horizonAge is the age of the last poll that was applied; -1 before the first.
func (t *tiers) horizonAge() time.Duration {
	if horizon := t.feed.Horizon(); !horizon.IsZero() {
		return session.Age(time.Now(), horizon)
	}
	return -1
}

// answersOf are how many tokens were accepted since the start, by who answered.
func answersOf(m *telemetry.Metrics) fleet.Answers {
	return fleet.Answers{
		Memory: m.Accepted(session.FromMemory.String()), Redis: m.Accepted(session.FromRedis.String()),
		Database: m.Accepted(session.FromDatabase.String()),
	}
}

// health is how Redis is doing.
func (s sharedTier) health(ctx context.Context) fleet.Trouble {
	if s.rdb == nil {
		return fleet.RedisNone
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	if err := redistier.Check(ctx, s.rdb); err != nil {
		return redistier.Trouble(err)
	}
	return fleet.RedisGood
}
