package run

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/fleet"
)

// sick is a worker with that state of health.
type sick struct{ error }

func (s sick) Healthy() error { return s.error }

func TestReadyNeedsAWorkerNumber(t *testing.T) {
	t.Parallel()
	_, db := opened(t)
	for _, c := range []struct {
		health error
		want   int
	}{
		{nil, 0},
		{fmt.Errorf("failing for 1s: %w: disk full", idworker.ErrNoGrant), 1},
		{idworker.ErrClockBehind, 0}, // requests are answered, and logins wait for the clock
		{errors.Join(idworker.ErrNoGrant, context.DeadlineExceeded), 1},
	} {
		if got := (&readiness{db: db, ids: sick{c.health}}).reasons(t.Context()); len(got) != c.want {
			t.Errorf("worker %v: reasons %q, want %d", c.health, got, c.want)
		}
	}
}

// TestReadySaysThatNoConnectionComesFree: requests that do not end, behind the lock of a table, hold all
// of them.
func TestReadySaysThatNoConnectionComesFree(t *testing.T) {
	t.Parallel()
	_, db := opened(t)
	for range db.SQL().Stats().MaxOpenConnections {
		conn, err := db.SQL().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if got := (&readiness{db: db, ids: sick{}}).reasons(t.Context()); len(got) != 1 || got[0] != fleet.DatabaseSlow {
		t.Errorf("reasons %q", got)
	}
}

// TestReadySaysThatTheServerIsFull: a server that refuses one more connection answers, and says why.
func TestReadySaysThatTheServerIsFull(t *testing.T) {
	t.Parallel()
	_, db := opened(t)
	for _, number := range []uint16{1040, 1203, 1226} {
		err := fmt.Errorf("database: %w", &mysql.MySQLError{Number: number, Message: "too many connections"})
		if got := (&readiness{db: db}).trouble(t.Context(), err, fleet.DatabaseRefuses); got != fleet.DatabaseFull {
			t.Errorf("error %d: %q", number, got)
		}
	}
}

// TestReadySaysWhetherMigrateUpHelps: it makes what a step makes, and nothing again.
func TestReadySaysWhetherMigrateUpHelps(t *testing.T) {
	t.Parallel()
	_, db := opened(t)
	r := &readiness{db: db, ids: sick{}}
	for _, c := range []struct {
		table string
		want  fleet.Trouble
	}{{"settings", fleet.DatabaseDamaged}, {"flakepass_migrations", fleet.DatabaseLacking}} {
		if _, err := db.SQL().ExecContext(t.Context(), "ALTER TABLE "+c.table+" RENAME TO gone_"+c.table); err != nil {
			t.Fatal(err)
		}
		if got := r.reasons(t.Context()); len(got) != 1 || got[0] != c.want {
			t.Errorf("without %s: reasons %q", c.table, got)
		}
	}
}
