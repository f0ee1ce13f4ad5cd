package run

import (
	"context"
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// formats keeps what is computed for unknown names like what the accounts have. Where
// nothing was imported it reads one empty table a minute.
type formats struct {
	db     *sqlstore.DB
	hasher *account.Hasher
	log    *slog.Logger
}

// NewImport adds users to that database.
func NewImport(db *sqlstore.DB, hasher *account.Hasher, ids audit.IDs) *operator.Import {
	return &operator.Import{Store: &sqlstore.Users{DB: db}, Formats: &sqlstore.HashFormats{DB: db}, Hasher: hasher, IDs: ids, Now: time.Now}
}

// NewExport reads the users of that database.
func NewExport(db *sqlstore.DB, ids audit.IDs) *operator.Export {
	return &operator.Export{Store: &sqlstore.Users{DB: db}, IDs: ids}
}

// run reads the counts now and once a minute, until ctx ends.
func (f formats) run(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		f.read(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (f formats) read(ctx context.Context) {
	counts, err := (&sqlstore.HashFormats{DB: f.db}).Load(ctx)
	var key []byte
	if err == nil && len(counts) > 0 {
		key, err = (&sqlstore.Settings{DB: f.db}).CacheKey(ctx)
	}
	switch {
	case err != nil && ctx.Err() == nil:
		f.log.WarnContext(ctx, "formats of password hashes not read; unknown names take as long as before", "err", err)
	case err == nil && len(counts) > 0:
		f.hasher.SetMix(key, counts)
	}
}

// afterSweep counts the formats if that is an hour ago, and if any is left that is not
// ours: who logs in has ours from then on. While few are left it counts once a day: what changes is
// less than a hundredth, and each count reads all users.
func (f formats) afterSweep(ctx context.Context) {
	store := &sqlstore.HashFormats{DB: f.db}
	counts, err := store.Load(ctx)
	ago, every := 0.0, 1.0
	if f.hasher.FewForeign(counts) {
		every = 24
	}
	if err == nil && f.hasher.Foreign(counts) {
		ago, err = store.Hours(ctx)
	}
	if err == nil && ago >= every {
		_, err = store.Count(ctx, f.hasher.Format, false)
	}
	if err != nil && ctx.Err() == nil {
		f.log.WarnContext(ctx, "formats of password hashes not counted; the next sweep tries again", "err", err)
	}
}
