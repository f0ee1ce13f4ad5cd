package run

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/edge/requestid"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// OfInstance is log, with the name of this instance and, on what is logged for
// a request, the name of the request.
func OfInstance(log *slog.Logger) *slog.Logger {
	return telemetry.Named(log, Holder(), requestid.From)
}

// newCollector counts the refusals of this instance for the record.
func newCollector(db *sqlstore.DB, ids *idworker.Worker, log *slog.Logger, metrics *telemetry.Metrics) *audit.Collector {
	return &audit.Collector{
		Store: EventsOf(db), IDs: ids, Now: time.Now, Log: log, Summed: metrics.Summed(),
		Place: func(address string) string {
			at, err := netip.ParseAddr(address)
			if err != nil {
				return address
			}
			return ratelimit.Place(at)
		},
	}
}

// Retention deletes what was on record for long enough.
func Retention(cfg config.Config, db *sqlstore.DB, log *slog.Logger) *audit.Retention {
	return &audit.Retention{Store: EventsOf(db), Keep: cfg.AuditRetention, Now: time.Now, Log: log}
}

// Deletions deletes and purges the accounts of which the time is over. ends gets each
// login that ends by that.
func Deletions(cfg config.Config, db *sqlstore.DB, ends session.Publisher, ids audit.IDs, log *slog.Logger) *operator.Deletions {
	users := &sqlstore.Users{DB: db}
	return &operator.Deletions{
		Store: users, Asked: users, Ends: ends, Keep: cfg.DeleteRetention, Grace: cfg.SelfDeletionGrace, IDs: ids, Now: time.Now, Log: log,
	}
}

// foreign counts a value in Redis that this deployment did not write.
func foreign(metrics *telemetry.Metrics, collector *audit.Collector) func(context.Context) {
	return func(ctx context.Context) {
		metrics.Foreign(ctx)
		// The request on whose behalf it was found has nothing to do with it.
		collector.Note(audit.Incident{
			Action: audit.CacheForeignValue, Reason: "foreign_value", Target: audit.Target{Kind: "cache"}, By: audit.Actor{Name: "flakepass", Via: audit.ViaServer},
		})
	}
}
