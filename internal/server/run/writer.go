package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

const (
	tryAgain  = 500 * time.Millisecond // how often a waiting server looks for a writer
	tellAgain = 10 * time.Second       // how often it says that it waits
)

// patiently returns what ask gets from the database. While that fails for a reason that may pass
// by itself, it tries again, for limit at most, and says so. The limit begins with the first failure.
// It returns an error of ctx if that ends meanwhile, and any other failure at once. The schema, the
// policy, the key of the deployment, the worker number and whether there is an admin are asked so: a database that is slow for
// some seconds then ends no start.
func patiently[T any](ctx context.Context, limit time.Duration, log *slog.Logger, ask func(context.Context) (T, error)) (T, error) {
	var none T
	pause := time.NewTicker(tryAgain)
	defer pause.Stop()
	var began, told time.Time
	for {
		got, err := ask(ctx)
		now := time.Now()
		if err == nil {
			if !began.IsZero() {
				log.InfoContext(ctx, "the database takes writes", "waited", now.Sub(began).Round(time.Second))
			}
			return got, nil
		}
		if ctx.Err() != nil {
			return none, errors.Join(ctx.Err(), err)
		}
		if limit == 0 || !sqlstore.MayPass(err) {
			return none, err
		}
		if began.IsZero() {
			began = now
		}
		left := limit - now.Sub(began)
		if left <= 0 {
			return none, fmt.Errorf("%w; waited for %v (FLAKEPASS_DATABASE_WAIT)", err, limit)
		}
		if told.IsZero() || now.Sub(told) >= tellAgain {
			told = now
			log.WarnContext(ctx, "waiting for a database that takes writes", "at_most", left.Round(time.Second), "err", err)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return none, errors.Join(ctx.Err(), err)
		}
	}
}

// findWriter returns nil if the database answers and takes writes. Its connection gives up
// after some seconds, as one for a migration must not.
func findWriter(ctx context.Context, cfg config.Config) error {
	db, err := Connect(ctx, cfg, slog.New(slog.DiscardHandler), false) // the driver would log each failure
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := db.Writable(ctx); err != nil {
		return fmt.Errorf("database (FLAKEPASS_DATABASE): %w", err)
	}
	return nil
}
