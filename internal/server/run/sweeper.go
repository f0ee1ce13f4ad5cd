package run

import (
	"fmt"
	"log/slog"

	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// A SweepDoor is what operators do with the sweep: ask for a pass, and see what
// the passes did.
type SweepDoor struct {
	*sweep.Sweeper
	*sqlstore.Sweeps
	copies *sqlstore.Copies
}

// NewSweeper is the sweeper of a server or of the command.
func NewSweeper(cfg config.Config, db *sqlstore.DB, rule interface{ Current() *policy.Policy }, ids sweep.IDs, log *slog.Logger) (SweepDoor, error) {
	store := &sqlstore.Sweeps{DB: db}
	d := SweepDoor{&sweep.Sweeper{
		Store: store, Book: store, Policy: rule, IDs: ids, Log: log, Instance: Holder(), Audit: cfg.AuditExpiry,
		Limits: sweep.Limits{Lag: cfg.ReplicaLag},
	}, store, nil}
	if len(cfg.Replicas) == 0 {
		return d, nil
	}
	sources := make([]string, len(cfg.Replicas))
	for i, u := range cfg.Replicas {
		var err error
		if sources[i], err = sqlstore.MySQLSource(u.Reveal()); err != nil {
			return SweepDoor{}, fmt.Errorf("replica %d of FLAKEPASS_REPLICAS: %w", i+1, err)
		}
	}
	var err error
	if d.copies, err = sqlstore.OpenCopies(db, sources, log); err != nil {
		return SweepDoor{}, err
	}
	d.Copies = d.copies
	return d, nil
}

// Close closes the connections to replicas.
func (d SweepDoor) Close() {
	if d.copies != nil {
		_ = d.copies.Close()
	}
}

// count has a server's metrics told of each pass.
func (d SweepDoor) count(metrics *telemetry.Metrics) {
	d.Swept = func(r sweep.Report) { metrics.Swept(string(r.Outcome), r.Cleared, r.FailedRows, r.Took()) }
	d.Skipped = metrics.SweepSkipped
}
