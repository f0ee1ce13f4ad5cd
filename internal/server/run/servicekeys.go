package run

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/feed"
	"github.com/flakepass/flakepass/internal/store/layer"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// serviceKeys recognises the keys of services, by the same rules as sessions: which server
// decides, how many rows are read at once, and the bound.
func serviceKeys(cfg config.Config, db *sqlstore.DB, slots *layer.ReadSlots, polls *feed.Feed, polled layer.Polled, metrics *telemetry.Metrics) *servicekey.Service {
	count := metrics.ServiceKeys(servicekey.Results(), servicekey.Known().Names())
	return servicekey.NewService(servicekey.Options{
		Rows: &layer.ServiceKeys{Rows: &sqlstore.ServiceKeys{DB: db}, Slots: slots, Polled: polled, Decided: func() (time.Time, bool) {
			if !db.Several() {
				return time.Now(), true
			}
			return polls.Horizon(), polls.Fresh()
		}},
		Reads: slots.Reads(), Life: servicekey.Life(cfg.RevocationBound, polls.Every()), Clock: polls.Clock,
		Counted: func(result string, needs servicekey.Scope) { count(result, string(needs)) },
	})
}

// passwordLogins says which accounts of services may log in with a password.
type passwordLogins struct {
	setting string    // of [config.Config.ServicePasswordLogin]
	since   time.Time // when this deployment got service keys
	log     *slog.Logger
	seen    atomic.Bool
}

// keysSince is the migration that brought service keys.
const keysSince = "service_keys"

// newPasswordLogins reads since when the deployment has service keys.
func newPasswordLogins(ctx context.Context, setting string, db *sqlstore.DB, log *slog.Logger) (*passwordLogins, error) {
	p := &passwordLogins{setting: setting, log: log}
	applied, err := Applied(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	for _, m := range applied {
		if m.Name == keysSince {
			p.since = m.AppliedAt
		}
	}
	return p, nil
}

// may reports whether u, a service, may log in with a password. Accounts of services that are older
// than service keys in this deployment go on with passwords: their owners need time to give each a
// key. The time when an account was made is read from its ID, because an import may give any
// created_at.
func (p *passwordLogins) may(u *account.User) bool {
	ok := p.setting == config.ServicePasswordsOn || p.setting == config.ServicePasswordsExisting && idworker.Default().Time(u.ID).Before(p.since)
	if ok && p.setting == config.ServicePasswordsExisting {
		p.seen.Store(true)
		p.log.Warn("a service logs in with a password; give it a service key", "user_id", u.ID)
	}
	return ok
}

// warnings are for an operator who has services to carry over.
func (p *passwordLogins) warnings() []string {
	if !p.seen.Load() {
		return nil
	}
	return []string{"a service has logged in with a password since the start: give it a service key, and set FLAKEPASS_SERVICE_PASSWORD_LOGIN=off when none does"}
}
