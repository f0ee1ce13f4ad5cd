package run

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/broadcast"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/layer"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/redisstore"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// tiers are the stores that stand in front of the user rows, and what keeps
// them informed.
type tiers struct {
	near     session.Store // what a request asks
	truth    session.Rows  // the user rows, behind the read slots
	feed     *feed.Feed
	news     *broadcast.Hub // streams to other services
	common   sharedTier
	accepted func(session.Accept)
	proven   func() bool // whether the rows of the database decide
	keys     *servicekey.Service

	touches *layer.WriteBehind
	memory  *memstore.Sessions // nil if nothing is cached
	auditor *session.Auditor
	repair  *session.Repair
}

func (t *tiers) close() {
	if t.memory != nil {
		t.memory.Close()
	}
	t.common.Close()
}

// stack puts the tiers together, from the request to the rows: Publisher (the streams of
// services), memory, Redis, WriteBehind, ReadSlots, FreshPolicy, the rows. Without Redis
// that tier is absent; with no room for entries nothing is cached at all.
func stack(ctx context.Context, cfg config.Config, db *sqlstore.DB, key []byte, kept *sqlstore.Sessions, rule *policy.Live,
	log *slog.Logger, metrics *telemetry.Metrics, collector *audit.Collector) (*tiers, error) {
	t := &tiers{repair: session.NewRepair()}
	// Half of the connections are for reading, half for those who log in and out.
	rows := &layer.FreshPolicy{Rows: kept, Judged: kept, Policy: rule}
	slots := layer.NewReadSlots(rows, db.SQL().Stats().MaxOpenConnections/2)
	t.truth = slots
	t.touches = layer.NewWriteBehind(t.truth, layer.WriteBehindOptions{To: kept, Policy: rule, Written: t.written, Log: log})
	t.near = t.touches

	var err error
	t.feed, err = feed.New(feed.Options{
		From: kept, Policy: rule.Follow(log), Bound: cfg.RevocationBound, Log: log,
		Polled: func(took time.Duration, ends int, err error) {
			metrics.Polled(took, ends, err)
			if errors.Is(err, context.DeadlineExceeded) {
				db.Leave() // the feed finds a broken connection before a request does
			}
		},
		Lost: func() { t.repair.Soon() },
		Learn: func(news session.News) {
			if t.memory != nil {
				t.memory.ApplyPoll(news)
			}
			if t.common.redis != nil { // after memory, as with a doubt
				t.common.redis.ApplyPoll(news)
			}
			t.news.ApplyPoll(news)
		},
	})
	if err != nil {
		return nil, err
	}
	rows.Clock = t.feed
	t.proven = func() bool { return !db.Several() || t.feed.Fresh() }
	rows.Proven, rows.Polled = t.proven, t.polled(db)
	t.keys = serviceKeys(cfg, db, slots, t.feed, rows.Polled, metrics)
	t.news = broadcast.New(broadcast.Options{Feed: t.feed, Policy: rule, Bound: cfg.RevocationBound})
	context.AfterFunc(ctx, t.news.Stop) // streams would hold up the end
	metrics.Followers(func() float64 { return float64(t.news.Followers()) })
	metrics.Horizon(func() float64 { return session.Age(time.Now(), t.feed.Horizon()).Seconds() })
	t.auditor = session.NewAuditor(t.truth, metrics.StaleAccept)
	t.accepted = accepted(metrics, t.auditor)
	if err := t.cache(ctx, cfg, db, redisstore.Options{Key: key, Feed: t.feed, Unpublished: metrics.Unpublished, Foreign: foreign(metrics, collector), Log: log}, metrics); err != nil {
		return nil, err
	}
	t.near = &broadcast.Publisher{Store: t.near, To: t.news}
	rule.Lowered = t.doubt
	// Redis may hold answers of before a lower limit that this instance has not seen come. A
	// day is far more than they live, whatever its clock shows.
	if time.Since(rule.Current().LoweredAt) < 24*time.Hour {
		t.doubt()
	}
	return t, nil
}

// polled is when the last poll began, where the database may be replaced by another server.
func (t *tiers) polled(db *sqlstore.DB) layer.Polled {
	return func() time.Time {
		if !db.Replaceable() {
			return time.Time{}
		}
		return t.feed.Horizon()
	}
}

// cache puts Redis, if there is one, and memory in front of the rows.
func (t *tiers) cache(ctx context.Context, cfg config.Config, db *sqlstore.DB, hooks redisstore.Options, metrics *telemetry.Metrics) (err error) {
	if cfg.CacheEntries == 0 {
		// Nothing is kept in Redis; attempts are counted there all the same.
		if !cfg.Redis.IsZero() {
			t.common.rdb, t.common.where = openRedis(cfg.Redis), cfg.Redis.Where()
		}
		return nil
	}
	if !cfg.Redis.IsZero() {
		hooks.Listening = metrics.RedisListening()
		hooks.Gap = func(time.Time) { t.feed.Soon() }
	}
	if t.common, err = Shared(ctx, cfg, db, t.near, hooks); err != nil {
		return err
	}
	t.memory, err = memstore.NewSessions(t.common, memstore.Options{
		Entries: cfg.CacheEntries, Bound: cfg.RevocationBound, Feed: t.feed, Replaceable: db.ReplaceableFlag(), Arrived: metrics.EndArrived,
	})
	if err != nil {
		t.common.Close()
		return err
	}
	t.near = t.memory
	return nil
}

// run keeps the tiers informed until ctx ends.
func (t *tiers) run(ctx context.Context, running *sync.WaitGroup) {
	// Until the first poll nothing that is cached is believed. If it fails, the
	// next may not.
	_ = t.feed.Poll(ctx)
	running.Go(func() { t.feed.Run(ctx) })
	running.Go(func() { t.touches.Run(ctx, time.Second) })
	running.Go(func() { t.auditor.Run(ctx) })
	running.Go(func() { t.repair.Run(ctx) })
	running.Go(func() { t.keys.Run(ctx) })
	if t.common.redis != nil {
		running.Go(func() { t.common.redis.Listen(ctx, t.note) })
	}
}

// repairs sets what a repair needs.
func (t *tiers) repairs(kept *sqlstore.Sessions, events audit.IDs, metrics *telemetry.Metrics, log *slog.Logger) {
	r := t.repair
	r.All, r.Rows, r.EventIDs, r.Repaired, r.Log = t.feed.Global, kept, events, metrics.LostEnds, log
	r.Known = func() []session.End {
		if t.memory == nil {
			return nil
		}
		return t.memory.Ends()
	}
}

// note applies an end on another instance.
func (t *tiers) note(ended session.Session) {
	t.memory.ApplyEnd(ended)
	t.news.ApplyEnd(ended)
}

// written notes what the row of a session says after a use of it.
func (t *tiers) written(id idworker.ID, seen time.Time) {
	if t.memory != nil {
		t.memory.Written(id, seen)
	}
}

// doubt has the rows asked again about every session, because which of them a lower limit
// ends is for them to say. Memory is first: what passes Redis after it passes memory, too.
func (t *tiers) doubt() {
	if t.memory != nil {
		t.memory.Doubt()
	}
	if t.common.redis != nil {
		t.common.redis.Doubt()
	}
}

// settled applies what the rows have decided about a session. An end is final, so
// the services that follow this instance receive it as any other end.
func (t *tiers) settled(s session.Session) {
	if s.Alive() {
		t.written(s.ID, s.Seen)
		return
	}
	if t.memory != nil {
		t.memory.ApplySettled(s)
	}
	t.news.ApplyEnd(s)
}

// clock is the database's clock, as far as it was read, and otherwise this
// machine's.
func (t *tiers) clock() time.Time {
	if now, ok := t.feed.Clock(); ok {
		return now
	}
	return time.Now()
}

// service is the sessions over these tiers.
func (t *tiers) service(bound time.Duration, kept session.Writer, recorded bool, ids session.Minter, events audit.IDs, rule *policy.Live) *session.Service {
	return &session.Service{
		Store: t.near, Rows: t.truth, Writer: kept, Recorded: recorded, IDs: ids, EventIDs: events, Policy: rule, Known: t.feed,
		Near: bound + nearEnd, Settled: t.settled, Accepted: t.accepted,
	}
}

// nearEnd is how long before the end of its idle timeout a use is written before
// it is answered, beside the bound: longer than what is written behind takes, with
// one attempt that fails.
const nearEnd = 5 * time.Second

// accepted counts which tier answered for the tokens that were accepted, and has
// some of them audited.
func accepted(metrics *telemetry.Metrics, auditor *session.Auditor) func(session.Accept) {
	// How many accepts there are to each whose age is observed, and to each that is audited.
	const aged, audited = 64, 1000
	count := [...]*atomic.Uint64{
		session.FromDatabase: metrics.Accepts(session.FromDatabase.String()),
		session.FromRedis:    metrics.Accepts(session.FromRedis.String()),
		session.FromMemory:   metrics.Accepts(session.FromMemory.String()),
	}
	var n atomic.Uint64
	return func(w session.Accept) {
		count[w.Source].Add(1)
		nth := n.Add(1)
		if nth%aged == 0 {
			metrics.AcceptAge(session.Age(w.At, w.AsOf))
		}
		if nth%audited == 0 {
			auditor.Sample(w)
		}
	}
}
