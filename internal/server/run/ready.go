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
	// It writes as well, now and then: to what lends the number.
	if errors.Is(r.ids.Healthy(), idworker.ErrNoGrant) {
		reasons = append(reasons, fleet.WorkerRangeStuck+": "+fleet.Trouble(r.lender))
	}
	return reasons
}

// database is what is wrong with it; empty if nothing is. An answer is not enough: after a
// restore or a failover a server may answer without the tables, or without their rows.
func (r *readiness) database(ctx context.Context) fleet.Trouble {
	if err := r.db.Ping(ctx); err != nil {
		// A connection that is waited for is one that the requests do not give back.
		if stats := r.db.SQL().Stats(); errors.Is(err, context.DeadlineExceeded) && stats.InUse < stats.MaxOpenConnections {
			return fleet.DatabaseSilent
		}
		return r.trouble(err, fleet.DatabaseSilent)
	}
	if _, err := (&sqlstore.Settings{DB: r.db}).LoadPolicy(ctx); err != nil {
		return r.trouble(err, fleet.SettingsUnreadable)
	}
	if err := r.write(ctx); err != nil {
		return r.trouble(err, fleet.DatabaseReadOnly)
	}
	if r.proven != nil && !r.proven() {
		return fleet.DatabaseUnproven
	}
	return ""
}

// trouble is what an error of the database says is wrong. What needs a person is told apart
// from what does not: to migrate the schema of a server that only reads would do harm.
func (r *readiness) trouble(err error, otherwise fleet.Trouble) fleet.Trouble {
	unfit, isUnfit := errors.AsType[*sqlstore.UnfitError](err)
	switch {
	case isUnfit:
		return fleet.DatabaseUnfit + ": " + fleet.Trouble(unfit.Why)
	case errors.Is(err, sqlstore.ErrReadOnly):
		return fleet.DatabaseReadOnly
	case errors.Is(err, context.DeadlineExceeded):
		return fleet.DatabaseSlow
	case sqlstore.Undecided(err) && r.db.Several():
		return fleet.DatabaseUnproven
	case sqlstore.MayPass(err):
		return fleet.DatabaseSilent
	case sqlstore.Lacking(err):
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
