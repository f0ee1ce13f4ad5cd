package migrations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3/database"
)

// A record is the table in which a database keeps what was applied to it. It
// differs from goose's own in three ways. The number is the primary key, so no
// migration can be recorded twice. The time is an integer, so reading it needs
// no driver option. There is no row 0, which a process killed at the wrong
// moment would leave out for ever.
type record struct {
	now    string // the database's clock, in Unix milliseconds
	exists string // a query for how many tables of the name given there are
	suffix string // ends a CREATE TABLE
	alone  string // ends the removal of a step, in the transaction of its undoing: no newer one is there
}

var _ database.StoreExtender = record{}

const recordTable = "flakepass_migrations"

func recordOf(d Dialect) (record, error) {
	switch d {
	case MySQL:
		return record{
			now:    "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
			exists: "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ",
			suffix: "ENGINE = InnoDB",
		}, nil
	case SQLite:
		return record{
			now:    "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
			exists: "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ",
			alone:  " AND number = (SELECT MAX(number) FROM " + recordTable + ")",
		}, nil
	}
	return record{}, fmt.Errorf("migrations: no dialect %q", d)
}

// applied are the migrations that a database has, and since when.
type applied map[int64]time.Time

func (a applied) has(m migration) bool {
	_, ok := a[m.number]
	return ok
}

func (a applied) newest() int64 {
	var n int64
	for number := range a {
		n = max(n, number)
	}
	return n
}

// read returns nothing for a database without the table.
func (r record) read(ctx context.Context, db database.DBTxConn) (applied, error) {
	exists, err := r.TableExists(ctx, db)
	if err != nil || !exists {
		return applied{}, err
	}
	rows, err := db.QueryContext(ctx, "SELECT number, applied_at FROM "+recordTable)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", recordTable, err)
	}
	defer func() { _ = rows.Close() }()
	a := applied{}
	for rows.Next() {
		var number, at int64
		if err := rows.Scan(&number, &at); err != nil {
			return nil, fmt.Errorf("read %s: %w", recordTable, err)
		}
		a[number] = time.UnixMilli(at).UTC()
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", recordTable, err)
	}
	return a, nil
}

// Tablename, with the methods below, makes a record a store for goose.
func (record) Tablename() string { return recordTable }

// TableExists looks into the database's catalogue.
func (r record) TableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	return r.tableExists(ctx, db, recordTable)
}

func (r record) tableExists(ctx context.Context, db database.DBTxConn, table string) (bool, error) {
	var n int
	if err := db.QueryRowContext(ctx, r.exists+"'"+table+"'").Scan(&n); err != nil {
		return false, fmt.Errorf("look for %s: %w", table, err)
	}
	return n > 0, nil
}

// CreateVersionTable does nothing when the table is there: somebody else may
// have been first.
func (r record) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	_, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+recordTable+
		" (number BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL) "+r.suffix)
	return err
}

// Insert leaves out the number 0, with which goose marks a new table.
func (r record) Insert(ctx context.Context, db database.DBTxConn, request database.InsertRequest) error {
	if request.Version == 0 {
		return nil
	}
	_, err := db.ExecContext(ctx, "INSERT INTO "+recordTable+" (number, applied_at) VALUES (?, "+r.now+")", request.Version)
	return err
}

// errMoved means that a step is not as this run has found it.
var errMoved = errors.New("another process has migrated the database meanwhile")

// Delete fails with errMoved when there is no such row, so of two transactions that undo the
// same migration one is rolled back.
func (r record) Delete(ctx context.Context, db database.DBTxConn, number int64) error {
	gone, err := one(db.ExecContext(ctx, "DELETE FROM "+recordTable+" WHERE number = ?"+r.alone, number))
	if err == nil && !gone {
		err = errMoved
	}
	return err
}

// GetMigration returns database.ErrVersionNotFound for what was not applied.
func (r record) GetMigration(ctx context.Context, db database.DBTxConn, number int64) (*database.GetMigrationResult, error) {
	a, err := r.read(ctx, db)
	if err != nil {
		return nil, err
	}
	at, ok := a[number]
	if !ok {
		return nil, database.ErrVersionNotFound
	}
	return &database.GetMigrationResult{Timestamp: at, IsApplied: true}, nil
}

// GetLatestVersion returns 0 for an empty table.
func (r record) GetLatestVersion(ctx context.Context, db database.DBTxConn) (int64, error) {
	a, err := r.read(ctx, db)
	return a.newest(), err
}

// ListMigrations is part of goose's interface; nothing that a runner calls uses
// it.
func (r record) ListMigrations(ctx context.Context, db database.DBTxConn) ([]*database.ListMigrationsResult, error) {
	a, err := r.read(ctx, db)
	list := make([]*database.ListMigrationsResult, 0, len(a))
	for number := range a {
		list = append(list, &database.ListMigrationsResult{Version: number, IsApplied: true})
	}
	return list, err
}
