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

// patiently opens the database. While that fails for a reason that may pass by itself, it
// tries again, for limit at most, and says so. The limit begins with the first failure. It returns
// an error of ctx if that ends meanwhile, and any other failure at once.
func patiently(ctx context.Context, limit time.Duration, log *slog.Logger, open func(context.Context) (*sqlstore.DB, error)) (*sqlstore.DB, error) {
	pause := time.NewTicker(tryAgain)
	defer pause.Stop()
	var began, told time.Time
	for {
		db, err := open(ctx)
		now := time.Now()
		if err == nil {
			if !began.IsZero() {
				log.InfoContext(ctx, "the database takes writes", "waited", now.Sub(began).Round(time.Second))
			}
			return db, nil
		}
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
		if limit == 0 || !sqlstore.MayPass(err) {
			return nil, err
		}
		if began.IsZero() {
			began = now
		}
		left := limit - now.Sub(began)
		if left <= 0 {
			return nil, fmt.Errorf("%w; waited for %v (FLAKEPASS_DATABASE_WAIT)", err, limit)
		}
		if told.IsZero() || now.Sub(told) >= tellAgain {
			told = now
			log.WarnContext(ctx, "waiting for a database that takes writes", "at_most", left.Round(time.Second), "err", err)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
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
