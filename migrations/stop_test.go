package migrations

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/pressly/goose/v3"
)

// TestAStopDuringAMigrationIsNoFailure: a stop that meets the end of a transaction has it say that it was rolled back before, and not that
// the context has ended. flakepass serve ends with 0 if the error is that of the context.
func TestAStopDuringAMigrationIsNoFailure(t *testing.T) {
	for _, d := range []Dialect{SQLite, MySQL} {
		r := &runner{dialect: d}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for _, stopped := range []bool{false, true} {
			if stopped {
				stop()
			}
			err := r.failure(ctx, migration{number: 9, name: "policies"}, up, &goose.PartialError{Err: sql.ErrTxDone})
			if errors.Is(err, context.Canceled) != stopped || !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("%s, stopped: %v: %v", d, stopped, err)
			}
		}
	}
}
