package run

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// readiness says why no load balancer should send requests here.
type readiness struct {
	db       *sqlstore.DB
	ids      interface{ Healthy() error }
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
	// An answer is not enough: after a restore or a failover a server may answer
	// without the tables, or without their rows.
	if err := r.db.Ping(ctx); err != nil {
		reasons = append(reasons, silence(err))
	} else if _, err := (&sqlstore.Settings{DB: r.db}).LoadPolicy(ctx); err != nil {
		reasons = append(reasons, fleet.SettingsUnreadable)
	} else if !r.writable(ctx) {
		reasons = append(reasons, fleet.DatabaseReadOnly)
	} else if r.proven != nil && !r.proven() {
		reasons = append(reasons, fleet.DatabaseUnproven)
	}
	// It writes as well, now and then: to the database, or beside SQLite's file.
	if errors.Is(r.ids.Healthy(), idworker.ErrNoGrant) {
		reasons = append(reasons, fleet.WorkerRangeStuck)
	}
	return reasons
}

// silence is why a database does not answer.
func silence(err error) fleet.Trouble {
	if unfit, ok := errors.AsType[*sqlstore.UnfitError](err); ok {
		return fleet.DatabaseUnfit + ": " + fleet.Trouble(unfit.Why)
	}
	return fleet.DatabaseSilent
}

// writable reports whether the database lets this instance write at all. It
// refuses a statement that would change rows before it looks for any, and there
// is no row with this ID. SQLite is not asked, because that would wait for its one writer.
func (r *readiness) writable(ctx context.Context) bool {
	if r.db.Dialect() == migrations.SQLite {
		return true
	}
	_, err := r.db.SQL().ExecContext(ctx, "UPDATE users SET role = role WHERE id = 0")
	return err == nil
}
