package run

import (
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// An OperatorDesk is what an operator can do to users and logins, through any
// door.
type OperatorDesk struct {
	Users    *operator.Users
	Sessions *operator.Sessions
	stats    *operator.Stats
}

// NewOperatorDesk makes one over the database. told is told of what ends; clock is
// that of the database, by which logins end.
func NewOperatorDesk(db *sqlstore.DB, told operator.Hearer, rule *policy.Live, hasher *account.Hasher, ids audit.IDs,
	clock func() time.Time) *OperatorDesk {
	users, settings := &sqlstore.Users{DB: db}, &sqlstore.Settings{DB: db}
	sessions := &operator.Sessions{
		Logins: &sqlstore.Sessions{DB: db}, Floor: settings, Counted: settings.CountLogins,
		Store: told, Rights: users, Policy: rule, IDs: ids, Now: time.Now, Clock: clock,
	}
	return &OperatorDesk{
		Users: &operator.Users{
			Accounts: users, Register: users, Resets: users, Open: users, Known: users, Hasher: hasher, Factors: &sqlstore.SecondFactors{DB: db}, Sessions: sessions, IDs: ids, Now: time.Now,
		},
		Sessions: sessions,
		stats:    &operator.Stats{Counter: settings, Policy: rule, Now: clock},
	}
}

// people are the verbs as the API has them.
func (d *OperatorDesk) people() httpapi.People {
	return httpapi.People{Users: d.Users, Logout: d.Users, Resets: d.Users, Open: d.Users, Sessions: d.Sessions, Stats: d.stats, Factors: d.Users}
}

// PoliciesOf are the verbs about the policy in that database. ids and rule are
// nil for a command: it opens a worker only to change something, and there is
// nobody here to act by the change.
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
