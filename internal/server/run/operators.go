package run

import (
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/edge/verb"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// Operators are what an operator can do to users and logins, through the API, the
// console and the command.
type Operators struct {
	Users    *operator.Users
	Sessions *operator.Sessions
	stats    *operator.Stats
}

// NewOperators works on the database. ids mints the IDs of users, events those of
// audit events. ends receives each end; clock is that of the database, by which
// logins end.
func NewOperators(db *sqlstore.DB, ends session.Publisher, rule *policy.Live, hasher *account.Hasher, ids, events audit.IDs,
	clock func() time.Time) *Operators {
	users, settings := &sqlstore.Users{DB: db}, &sqlstore.Settings{DB: db}
	sessions := &operator.Sessions{
		Logins: sqlstore.Logins{Sessions: &sqlstore.Sessions{DB: db}}, Floor: settings, Counted: settings.CountLogins,
		Store: ends, Rights: users, Policy: rule, IDs: events, Now: time.Now, Clock: clock,
	}
	return &Operators{
		Users: &operator.Users{
			Accounts: users, Store: users, Resets: users, Open: users, Known: users, Factors: &sqlstore.SecondFactors{DB: db}, Keys: &sqlstore.ServiceKeys{DB: db}, Names: users,
			Making: &account.Service{Users: users, Hasher: hasher, IDs: ids, Now: time.Now}, Sessions: sessions, IDs: events, Now: time.Now,
		},
		Sessions: sessions,
		stats:    &operator.Stats{Counter: settings, Policy: rule, Now: clock},
	}
}

// people are the verbs as the API and the console take them.
func (o *Operators) people() verb.People {
	return verb.People{Users: o.Users, Deletion: o.Users, Logout: o.Users, Resets: o.Users, Open: o.Users, Sessions: o.Sessions, Stats: o.stats, Factors: o.Users, Keys: o.Users, Acts: o.Users, Names: o.Users}
}

// PoliciesOf are the verbs about the policy in that database. ids and rule are
// nil for a command: it opens a worker only to change something, and its process
// applies no policy.
func PoliciesOf(db *sqlstore.DB, ids audit.IDs, rule *policy.Live, log *slog.Logger) *operator.Policies {
	p := &operator.Policies{
		Store: &sqlstore.Settings{DB: db}, IDs: ids, Now: time.Now,
		Schedule: func(spec string) error { _, err := sweep.ParseSchedule(spec); return err },
	}
	if rule != nil {
		p.Log, p.Here = log, rule
	}
	return p
}

// EventsOf is the record in that database.
func EventsOf(db *sqlstore.DB) *sqlstore.Audit { return &sqlstore.Audit{DB: db} }

// NewHasher is the pool in which passwords are hashed: as many at a time as is
// configured, and as many waiting as about two seconds can serve.
func NewHasher(cfg config.Config, e account.Engine) (*account.Hasher, error) {
	return account.NewHasher(e, account.DefaultParams(), cfg.HashWorkers, 32*cfg.HashWorkers)
}

// A recognition answers for the tokens that other services are shown.
type recognition struct {
	*session.Service
	tiers *tiers
}

func (r recognition) Horizon() time.Time { return r.tiers.feed.Horizon() }
func (r recognition) Clock() time.Time   { return r.tiers.clock() }
