package run

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/server/release"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

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
		Memory: m.Accepted(session.FromMemory.String()), Redis: m.Accepted(session.FromRedis.String()),
		Database: m.Accepted(session.FromDatabase.String()),
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
	case errors.Is(err, redisstore.ErrPermission):
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
