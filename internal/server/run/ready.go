package run

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/server/release"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/redisstore"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// readiness says why no load balancer should send requests here.
type readiness struct {
	db       *sqlstore.DB
	ids      interface{ Healthy() error }
	lender   string // what lends the number
	draining atomic.Bool
	proven   func() bool // see layer.FreshPolicy; nil before there are tiers
}

// reasons lists what keeps this instance from doing all of its work. It asks
// anew each time, for a second at most, and changes nothing.
func (r *readiness) reasons(ctx context.Context) (reasons []fleet.Trouble) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if r.draining.Load() {
		reasons = append(reasons, fleet.Stopping)
	}
	if trouble := r.database(ctx); trouble != "" {
		reasons = append(reasons, trouble)
	}
	// The worker also writes, now and then: it extends its range at the lender of the number.
	if errors.Is(r.ids.Healthy(), idworker.ErrNoGrant) {
		reasons = append(reasons, fleet.WorkerRangeStuck+": "+fleet.Trouble(r.lender))
	}
	return reasons
}

// database is what is wrong with it; empty if nothing is. An answer is not enough: after a
// restore or a failover a server may answer without the tables, or without their rows. Steps
// that were undone may lack what only some requests need.
func (r *readiness) database(ctx context.Context) fleet.Trouble {
	if err := r.db.Ping(ctx); err != nil {
		// A connection that is waited for is one that the requests do not give back.
		if stats := r.db.SQL().Stats(); errors.Is(err, context.DeadlineExceeded) && stats.InUse < stats.MaxOpenConnections {
			return fleet.DatabaseSilent
		}
		return r.trouble(ctx, err, fleet.DatabaseRefuses)
	}
	if behind, err := migrations.Behind(ctx, r.db.SQL()); err != nil {
		return r.trouble(ctx, err, fleet.SettingsUnreadable)
	} else if behind {
		return fleet.DatabaseLacking
	}
	if _, err := (&sqlstore.Settings{DB: r.db}).LoadPolicy(ctx); err != nil {
		return r.trouble(ctx, err, fleet.SettingsUnreadable)
	}
	if err := r.write(ctx); err != nil {
		return r.trouble(ctx, err, fleet.DatabaseReadOnly)
	}
	if r.proven != nil && !r.proven() {
		return fleet.DatabaseUnproven
	}
	return ""
}

// trouble is what an error of the database says is wrong. What needs a person is told apart
// from what does not: to migrate the schema of a server that only reads would do harm.
func (r *readiness) trouble(ctx context.Context, err error, otherwise fleet.Trouble) fleet.Trouble {
	unfit, isUnfit := errors.AsType[*sqlstore.UnfitError](err)
	switch {
	case isUnfit:
		return fleet.DatabaseUnfit + ": " + fleet.Trouble(unfit.Why)
	case errors.Is(err, sqlstore.ErrReplaced):
		return fleet.DatabaseReplaced
	case errors.Is(err, sqlstore.ErrReadOnly):
		return fleet.DatabaseReadOnly
	case errors.Is(err, context.DeadlineExceeded):
		return fleet.DatabaseSlow
	case sqlstore.Undecided(err) && r.db.Several():
		return fleet.DatabaseUnproven
	case sqlstore.Full(err):
		return fleet.DatabaseFull
	case sqlstore.MayPass(err):
		return fleet.DatabaseSilent
	case sqlstore.Lacking(err):
		if behind, err := migrations.Behind(ctx, r.db.SQL()); err == nil && !behind {
			return fleet.DatabaseDamaged // no step makes again what an earlier one has made
		}
		return fleet.DatabaseLacking
	}
	return otherwise
}

// write fails if the database does not let this instance write at all. It
// refuses a statement that would change rows before it looks for any, and there
// is no row with this ID. SQLite is not asked, because that would wait for its one writer.
func (r *readiness) write(ctx context.Context) error {
	if r.db.Dialect() == migrations.SQLite {
		return nil
	}
	_, err := r.db.SQL().ExecContext(ctx, "UPDATE users SET role = role WHERE id = 0")
	return err
}

// report is how this instance is doing, as far as it knows without asking the
// database: what the database does shows when the report is written.
func (s *system) report(ctx context.Context) fleet.Report {
	report := fleet.Report{
		Name: Holder(), Version: release.Version(), Worker: s.ids.Number(), Up: time.Since(s.start),
		Horizon: s.tiers.horizonAge(), Bound: s.cfg.RevocationBound, Answers: answersOf(s.metrics), Troubles: unfit(s.ids),
	}
	if s.ready.draining.Load() {
		report.Troubles = append(report.Troubles, fleet.Stopping)
	}
	if s.tiers.memory != nil {
		report.Remembered = s.tiers.memory.Size()
	}
	s.evicts.look(ctx)
	began := time.Now()
	report.Redis = s.redis.look(ctx)
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

// answersOf are how many tokens were accepted since the start, by the tier that
// answered.
func answersOf(m *telemetry.Metrics) fleet.Answers {
	return fleet.Answers{
		Memory:   m.Accepts(session.FromMemory.String()).Load(),
		Redis:    m.Accepts(session.FromRedis.String()).Load(),
		Database: m.Accepts(session.FromDatabase.String()).Load(),
	}
}

// health is how Redis is doing, and the error behind it.
func (s sharedTier) health(ctx context.Context) (fleet.Trouble, error) {
	if s.rdb == nil {
		return fleet.RedisNone, nil
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	if err := redisstore.Check(ctx, s.rdb); err != nil {
		return redisstore.Trouble(err), err
	}
	return fleet.RedisGood, nil
}

// An eviction knows whether Redis removes keys before they expire. Logins are right
// without any key, but Redis keeps the counts of attempts of all instances. A client that
// fills its memory could make it remove them.
type eviction struct {
	common sharedTier
	log    *slog.Logger
	said   atomic.Pointer[string] // what an operator should know; nil if nothing
}

// look asks Redis, and logs what an operator should know when that has changed. While
// Redis cannot be asked, what it said before holds.
func (e *eviction) look(ctx context.Context) {
	if e.common.rdb == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	text := ""
	switch policy, err := redisstore.Eviction(ctx, e.common.rdb); {
	case errors.Is(err, fleet.RedisPermission):
		text = "it is not known whether redis removes counts of attempts when its memory is full: its user may not ask (ACL +info)"
	case err != nil:
		return
	case policy != redisstore.NoEviction:
		text = "redis removes counts of attempts when its memory is full (maxmemory-policy " + policy + "); set noeviction"
	}
	was := e.said.Swap(&text)
	if text != "" && (was == nil || *was != text) {
		e.log.WarnContext(ctx, text, "at", e.common.where) //nolint:sloglint // one of two texts
	}
}

// warnings are what an operator should know.
func (e *eviction) warnings() []string {
	if text := e.said.Load(); text != nil && *text != "" {
		return []string{*text}
	}
	return nil
}
