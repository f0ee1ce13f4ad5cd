package run

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/importhook"
	"github.com/flakepass/flakepass/internal/server/keypair"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// A system is the parts of a server, in the order in which they are built.
type system struct {
	cfg     config.Config
	log     *slog.Logger
	metrics *telemetry.Metrics
	start   time.Time
	id      string // of this run of the process

	pair *keypair.Pair // nil without TLS

	running sync.WaitGroup // what runs beside the requests
	ends    []func()       // close what was opened; the last goes first

	db        *sqlstore.DB
	kept      *sqlstore.Sessions
	users     *sqlstore.Users
	rule      *policy.Live
	key       []byte // of the deployment, for what it keeps in Redis and counts
	ids       *idworker.Worker
	events    *eventIDs
	counts    *activity.Counter // for the console, by the hour
	collector *audit.Collector
	ready     *readiness

	tiers    *tiers
	evicts   *eviction
	redis    *redisWatch
	limits   *ratelimit.Limiter
	sessions *session.Service

	hashing func() hashing // waits until it has begun
	hasher  *account.Hasher
	stolen  *account.Breaches
	factors *secondfactor.Service
	sweeper Sweeper

	own       *login.Service
	passwords *passwordLogins
	hook      *importhook.Hook // nil if there is none
	operators *Operators
}

// beginHashing starts the process that hashes, which is ready as late as this one: meanwhile
// the others go on.
func (s *system) beginHashing(ctx, _ context.Context) error {
	s.hashing = sync.OnceValue(func() hashing { return newEngine(ctx, s.cfg, s.log, s.metrics) })
	go s.hashing()
	s.ends = append(s.ends, func() { s.hashing().end() })
	return nil
}

// openStores opens what is kept, and what IDs and events come from.
func (s *system) openStores(ctx, work context.Context) (err error) {
	if s.db, err = openDatabase(ctx, s.cfg, s.log); err != nil {
		return err
	}
	s.ends = append(s.ends, func() { _ = s.db.Close() })
	s.kept, s.users = &sqlstore.Sessions{DB: s.db, Instance: s.id}, &sqlstore.Users{DB: s.db}
	s.rule, err = patiently(ctx, s.cfg.DatabaseWait, s.log, func(ctx context.Context) (*policy.Live, error) {
		return policy.NewLive(ctx, &sqlstore.Settings{DB: s.db})
	})
	if err != nil {
		return err
	}
	if s.key, err = patiently(ctx, s.cfg.DatabaseWait, s.log, (&sqlstore.Settings{DB: s.db}).CacheKey); err != nil {
		return err
	}
	var closeLender func()
	wait := s.cfg.DatabaseWait
	if !LendsFromDatabase(s.cfg) {
		wait = 0
	}
	ids, err := patiently(ctx, wait, s.log, func(ctx context.Context) (ids *idworker.Worker, err error) {
		ids, closeLender, err = OpenWorker(ctx, s.cfg, s.db, s.log, true, &workerLog{log: s.log})
		return ids, err
	})
	if err != nil {
		return err
	}
	s.ids, s.events, s.ends = ids, &eventIDs{worker: ids, log: s.log}, append(s.ends, closeLender)
	RecordOverLimit(s.cfg, s.db, s.events)
	s.metrics.Worker(ids)
	s.running.Go(func() { giveBack(work, ids, s.log.Warn) })
	s.ready = &readiness{db: s.db, ids: ids, lender: lenderName(s.cfg)}
	s.counts = &activity.Counter{Store: &sqlstore.Activity{DB: s.db}, Instance: strconv.Itoa(ids.Number()), Now: time.Now, Log: s.log}
	s.running.Go(func() { s.counts.Run(work) })
	s.collector = newCollector(s.db, ids, s.log, s.metrics)
	s.running.Go(func() { s.collector.Run(work) })
	return nil
}

// stackTiers puts the tiers in front of what is kept, nearest last.
func (s *system) stackTiers(ctx, work context.Context) (err error) {
	if s.tiers, err = stack(ctx, s.cfg, s.db, s.key, s.kept, s.rule, s.log, s.metrics, s.collector); err != nil {
		return err
	}
	s.ends, s.ready.proven = append(s.ends, s.tiers.close), s.tiers.proven
	s.tiers.repairs(s.kept, s.events, s.metrics, s.log)
	s.tiers.run(work, &s.running)
	s.evicts = &eviction{common: s.tiers.common, log: s.log}
	s.redis = &redisWatch{common: s.tiers.common, bound: s.cfg.RevocationBound, log: s.log}
	s.sessions = s.tiers.service(s.cfg.RevocationBound, s.kept, s.cfg.AuditLogins, s.ids, s.events, s.rule)
	s.sessions.Rights = s.users
	s.limits = limiter(ctx, s.cfg, s.db, s.key, s.tiers.common, s.rule, s.log, s.metrics)
	return nil
}

// openPasswords opens what checks passwords and second factors.
func (s *system) openPasswords(ctx, work context.Context) (err error) {
	if s.hasher, err = NewHasher(s.cfg, s.hashing().engine); err != nil {
		return err
	}
	s.running.Go(func() { formats{s.db, s.hasher, s.log}.run(work) })
	if s.factors, err = newFactors(ctx, s.cfg, s.db, s.events, s.log, s.metrics); err != nil {
		return err
	}
	s.running.Go(func() { watchStolen(work, s.stolen) })
	s.running.Go(func() { warnOfMissingKeys(work, s.factors.Keys, &sqlstore.SecondFactors{DB: s.db}, s.log) })
	return nil
}

// startSweep clears ended sessions off the rows, and after each pass deletes events
// and counts that were kept for long enough.
func (s *system) startSweep(_, work context.Context) (err error) {
	if s.sweeper, err = NewSweeper(s.cfg, s.db, s.rule, s.ids, s.log); err != nil {
		return err
	}
	s.ends = append(s.ends, s.sweeper.Close)
	s.sweeper.count(s.metrics, s.counts)
	events := Retention(s.cfg, s.db, s.log)
	deletions := Deletions(s.cfg, s.db, s.tiers.near, s.events, s.log)
	s.sweeper.After = func(ctx context.Context) {
		events.AfterSweep(ctx)
		deletions.AfterSweep(ctx)
		clearGuards(ctx, s.db, s.log)
		clearRequests(ctx, s.kept, s.log)
		formats{s.db, s.hasher, s.log}.afterSweep(ctx)
	}
	s.running.Go(func() { s.sweeper.Run(work) })
	return nil
}

// joinUseCases makes the use cases of users and of operators.
func (s *system) joinUseCases(ctx, _ context.Context) (err error) {
	s.passwords, err = patiently(ctx, s.cfg.DatabaseWait, s.log, func(ctx context.Context) (*passwordLogins, error) {
		return newPasswordLogins(ctx, s.cfg.ServicePasswordLogin, s.db, s.log)
	})
	if err != nil {
		return err
	}
	accounts := &account.Service{
		Users: s.users, Hasher: s.hasher, Breached: s.stolen, IDs: s.ids, Now: time.Now,
		RehashFailed: func(ctx context.Context, err error) {
			s.log.WarnContext(ctx, "password hash not renewed after a login", "err", err)
		},
	}
	s.openHook(ctx, accounts)
	s.own = &login.Service{
		Accounts: accounts, Names: accounts, Newcomers: accounts, Users: s.users, Arrivals: s.users, Known: s.users, Proofs: s.kept, Links: s.users,
		Sessions: s.sessions, Devices: s.sessions, Held: s.users, Store: s.tiers.near,
		Codes: s.factors, Factors: s.factors, Attempts: s.limits, Sources: s.limits, Incidents: s.collector, Counts: s.counts,
		IDs: s.events, Now: time.Now, Log: s.log, Begun: s.metrics.Begun(), ByPassword: s.passwords.may,
		Leaving: s.users, Past: EventsOf(s.db), Methods: s.cfg.IssueMethods, Issued: s.metrics.Issued(s.cfg.IssueMethods),
	}
	if s.cfg.SelfDeletion {
		s.own.Grace = s.cfg.SelfDeletionGrace
	}
	s.operators = NewOperators(s.db, s.tiers.near, s.rule, s.hasher, s.ids, s.events, s.tiers.clock)
	s.operators.Sessions.Log, s.operators.Sessions.Here = s.log, s.tiers.feed
	s.operators.Users.Making.Breached, s.operators.Users.Revoked = s.stolen, s.tiers.keys.Forget
	if s.cfg.Impersonation {
		s.operators.Users.Impersonations = s.sessions
	}
	s.operators.Users.Renamed = s.tiers.feed.Soon
	return nil
}
