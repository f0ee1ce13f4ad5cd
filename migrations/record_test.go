//go:build unix

package migrations_test

import (
	"context"
	"database/sql"
	"log/slog"
	"testing"

	"github.com/flakepass/flakepass/migrations"
)

// TestRecordThatWaitsIsMadeUpFor: a backup locks the table of the record when the statement of a step is
// done, and its record is not. The same run tries again when the backup has ended.
func TestRecordThatWaitsIsMadeUpFor(t *testing.T) {
	onServers(t, func(t *testing.T, d database) {
		db := d.open(t)
		mustUp(t, db, d.dialect)
		step := names[len(names)-1]
		for _, to := range []func(context.Context, *sql.DB, migrations.Dialect, *slog.Logger) ([]migrations.Applied, error){downOne, migrations.Up} {
			backup, err := d.open(t).Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			exec := func(statement string) {
				if _, err := backup.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			exec("LOCK TABLES flakepass_migrations READ")
			run := &later{ended: make(chan struct{})}
			go func() {
				defer close(run.ended)
				run.applied, run.err = to(t.Context(), db, d.dialect, slog.New(slog.NewTextHandler(&run.log, nil)))
			}()
			run.says(t, "lets other statements pass")
			exec("UNLOCK TABLES")
			_ = backup.Close()
			<-run.ended
			if run.err != nil || len(run.applied) != 1 || run.applied[0].Name != step {
				t.Fatalf("got %v, %v; want %s", namesOf(run.applied), run.err, step)
			}
		}
	})
}

func downOne(ctx context.Context, db *sql.DB, d migrations.Dialect, log *slog.Logger) ([]migrations.Applied, error) {
	return migrations.Down(ctx, db, d, 1, log)
}
