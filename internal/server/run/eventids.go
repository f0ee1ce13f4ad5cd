package run

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// lendPatience is how long a command waits for the number of its entry in the
// record: longer than a lender that is well, and may have lost its data, takes.
const lendPatience = 15 * time.Second

// OpenIDs opens a worker for whatever a command makes.
func OpenIDs(ctx context.Context, cfg config.Config, db *sqlstore.DB, log *slog.Logger) (ids audit.IDs, closeIDs func(), err error) {
	w, closeLender, err := OpenWorker(ctx, cfg, db, log, false, nil)
	if err != nil {
		return nil, nil, err
	}
	return w, func() { _ = w.Close(context.WithoutCancel(ctx)); closeLender() }, nil
}

// OpenEventIDs opens a worker for the IDs of events alone. If nobody lends a
// number, the IDs are made by chance: whoever has to disable a user must not have
// to mend ZooKeeper first. close ends it.
func OpenEventIDs(ctx context.Context, cfg config.Config, db *sqlstore.DB, log *slog.Logger) (ids audit.IDs, closeIDs func(), err error) {
	patient, cancel := context.WithTimeout(ctx, lendPatience)
	ids, closeWorker, err := OpenIDs(patient, cfg, db, log)
	if err == nil {
		return ids, func() { closeWorker(); cancel() }, nil
	}
	cancel()
	if ctx.Err() != nil {
		return nil, nil, err
	}
	log.WarnContext(ctx, "nobody lends a worker number; the entry in the record gets a number by chance", "err", err)
	return byChance{}, func() {}, nil
}

// byChance makes IDs of this millisecond, without a worker number. They are keys
// of one table only, and the database refuses the second of two that are equal:
// one in four millions, if a server mints in the same millisecond. So they are
// for events, and never for users or tokens.
type byChance struct{}

// Next never fails.
func (byChance) Next(context.Context) (idworker.ID, error) {
	l := idworker.Default()
	now := time.Now()
	first := l.Smallest(now)
	return first + idworker.ID(rand.Int64N(int64(l.Smallest(now.Add(l.Unit))-first))), nil //nolint:gosec // a key, not a secret
}
