//go:build unix

package migrations_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/migrations"
)

// TestMigrationThatWaitsForATransactionHoldsUpNobody: a backup reads users in one long
// transaction, so that a step that changes users has to wait. A check that comes after it is
// answered before the backup ends. Otherwise it waits for both, and fails here.
func TestMigrationThatWaitsForATransactionHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		if name == "SQLite" { // a step is a transaction there, and waits for its file
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := kind(t)
			db, other := d.open(t), d.open(t)
			mustUp(t, db, d.dialect)
			const step, read = "users_device_key", "SELECT COUNT(*) FROM users"
			if _, err := migrations.Down(t.Context(), db, d.dialect, len(names)-slices.Index(names, step), nil); err != nil {
				t.Fatal(err)
			}

			backup, err := other.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = backup.Rollback() }()
			var n int
			if err := backup.QueryRowContext(t.Context(), read).Scan(&n); err != nil {
				t.Fatal(err)
			}
			var log testenv.Journal
			done := make(chan error, 1)
			go func() {
				_, err := migrations.Up(t.Context(), db, d.dialect, slog.New(slog.NewTextHandler(&log, nil)))
				done <- err
			}()

			ctx, cancel := context.WithTimeout(t.Context(), hang)
			defer cancel()
			for log.Count("lets other statements pass") == 0 && ctx.Err() == nil {
				if err := other.QueryRowContext(ctx, read).Scan(&n); err != nil {
					t.Fatalf("a read while the migration waits: %v", err)
				}
				<-time.After(10 * time.Millisecond)
			}
			if err := backup.Rollback(); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}

			db.SetMaxOpenConns(3)
			for range 3 {
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				var mine, usual int
				if err := conn.QueryRowContext(t.Context(), "SELECT @@SESSION.lock_wait_timeout, @@GLOBAL.lock_wait_timeout").Scan(&mine, &usual); err != nil || mine != usual {
					t.Errorf("a connection that migrated waits for tables %d s, not %d s: %v", mine, usual, err)
				}
			}
		})
	}
}
