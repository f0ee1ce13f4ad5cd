package run

import (
	"fmt"
	"log/slog"

	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// A Sweeper runs the passes of the sweep, and lists what they did.
type Sweeper struct {
	*sweep.Sweeper
	*sqlstore.Sweeps
	copies *sqlstore.Copies
}

// NewSweeper is the sweeper of a server or of the command.
func NewSweeper(cfg config.Config, db *sqlstore.DB, rule interface{ Current() *policy.Policy }, ids sweep.IDs, log *slog.Logger) (Sweeper, error) {
	store := &sqlstore.Sweeps{DB: db}
	d := Sweeper{&sweep.Sweeper{
		Store: store, Runs: store, Policy: rule, IDs: ids, Log: log, Instance: Holder(), Audit: cfg.AuditExpiry,
		Limits: sweep.Limits{Lag: cfg.ReplicaLag},
	}, store, nil}
	if len(cfg.Replicas) == 0 {
		return d, nil
	}
	sources := make([]string, len(cfg.Replicas))
	for i, u := range cfg.Replicas {
		var err error
		if sources[i], err = sqlstore.MySQLSource(u.Reveal()); err != nil {
			return Sweeper{}, fmt.Errorf("replica %d of FLAKEPASS_REPLICAS: %w", i+1, err)
		}
	}
	var err error
	if d.copies, err = sqlstore.OpenCopies(db, sources, log); err != nil {
		return Sweeper{}, err
	}
	d.Copies = d.copies
	return d, nil
}

// RecordOverLimit has what a lower limit ends be on record if what expires is, whoever finds it.
// Without ids, as in a command that only looks, the events get a number by chance.
func RecordOverLimit(cfg config.Config, db *sqlstore.DB, ids audit.IDs) {
	if !cfg.AuditExpiry {
		return
	}
	if ids == nil {
		ids = byChance{}
	}
	db.RecordOverLimit(ids)
}

// Close closes the connections to replicas.
func (d Sweeper) Close() {
	if d.copies != nil {
		_ = d.copies.Close()
	}
}

// count counts each pass in the server's metrics, and for the console.
func (d Sweeper) count(metrics *telemetry.Metrics, counts *activity.Counter) {
	d.Swept = func(r sweep.Report) {
		counts.Add(activity.Expired, int(r.Cleared))
		metrics.Swept(string(r.Outcome), r.Cleared, r.FailedRows, r.Took())
	}
	d.Skipped = metrics.SweepSkipped
}
