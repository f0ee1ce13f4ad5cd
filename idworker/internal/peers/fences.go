package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/fileworker"
	"github.com/flakepass/flakepass/idworker/sqlworker"
)

// fences counts the calls of Next that had to wait for a longer range at
// 100,000 IDs a second, with each kind of fence on a disk.
func fences(long time.Duration) ([]target, error) {
	dir, err := os.MkdirTemp("", "flakepass-peers")
	if err != nil {
		return nil, err
	}
	db, err := sqlite(filepath.Join(dir, "fence.db"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	var found []target
	for _, f := range []struct {
		name   string
		lender idworker.Lender
	}{
		{"a file", &fileworker.Lender{Dir: filepath.Join(dir, "worker")}},
		{"SQLite", &sqlworker.Lender{DB: db, Dialect: sqlworker.SQLite, Holder: "peers"}},
	} {
		w, s, e := openWorker(f.lender, idworker.Options{})
		if e != nil {
			err = errors.Join(err, e)
			break
		}
		stats, e := pace(w, long)
		err = errors.Join(err, e, s.close())
		found = append(found, target{
			what: fmt.Sprintf("100,000 IDs/s for %v, fence in %s: calls that waited for it", long, f.name), want: "0",
			got: fmt.Sprintf("%d of %d", stats.RangeWaits, stats.Minted), met: stats.RangeWaits == 0,
		})
	}
	return found, errors.Join(err, db.Close(), os.RemoveAll(dir))
}

// sqlite opens a new database that keeps what it acknowledges.
func sqlite(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = db.ExecContext(ctx, `CREATE TABLE worker_nodes (
		number      INT          NOT NULL PRIMARY KEY,
		owner_token VARCHAR(64)  NOT NULL,
		holder      VARCHAR(255) NOT NULL,
		fence_ms    BIGINT       NOT NULL,
		seen_at     BIGINT       NOT NULL
	)`)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// pace mints 100,000 IDs a second, a hundred in each millisecond, and returns
// how the Worker is doing afterwards.
func pace(w *idworker.Worker, long time.Duration) (idworker.Stats, error) {
	const perMilli = 100
	ctx := context.Background()
	begin := time.Now()
	for minted := 0; ; {
		passed := time.Since(begin)
		if passed >= long {
			return w.Stats(), nil
		}
		for due := int(math.Ceil(passed.Seconds()*1000)) * perMilli; minted < due; minted++ {
			if _, err := w.Next(ctx); err != nil {
				return w.Stats(), err
			}
		}
		time.Sleep(time.Millisecond)
	}
}
