//go:build unix

package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// TestCheckIsOneStatementThatEachConnectionPreparesOnce, also if several checks are the first,
// and if the table changes meanwhile. One of a token that lives asks once, any other one twice.
func TestCheckIsOneStatementThatEachConnectionPreparesOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.begin(t, w.user(t, "ada"))
		check := func(n int) {
			t.Helper()
			for range n {
				if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || got.ID != s.ID || got.Hash != s.Hash || got.Username != "ada" || !got.Alive() {
					t.Fatalf("%+v, %v", got, err)
				}
			}
		}
		db := open(t, w.options)
		db.SQL().SetMaxOpenConns(1)
		w.sessions = &sqlstore.Sessions{DB: db}
		check(1) // it finds out whether there may be further slots
		prepared, executed := commands(t, db)
		check(3)
		if p, e := commands(t, db); p != prepared || e != executed+3*int64(counts(db)) {
			t.Errorf("3 checks: %d prepared, %d executed; want 0 and 3", p-prepared, e-executed)
		}
		if _, err := w.sessions.Get(t.Context(), s.ID+1, session.Hash{}); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("a token that never was: %v", err)
		}
		if p, e := commands(t, db); p != prepared+int64(counts(db)) || e != executed+5*int64(counts(db)) {
			t.Errorf("a token that never was: %d prepared, %d executed; want 1 and 2", p-prepared, e-executed-3)
		}
		w.exec(t, "ALTER TABLE users ADD COLUMN of_another_release INT")
		check(2)

		several := open(t, w.options)
		w.sessions = &sqlstore.Sessions{DB: several}
		atOnce(8, func(int) { check(5) })
		if first := several.Prepared(); first == nil {
			t.Error("nothing is prepared")
		} else if check(1); several.Prepared() != first {
			t.Error("prepared again")
		}
	})
}

// commands are how many statements the one connection of db has prepared and executed, by the
// count of its server; 0 where that does not count.
func commands(t testing.TB, db *sqlstore.DB) (prepared, executed int64) {
	t.Helper()
	if counts(db) == 0 {
		return 0, 0
	}
	var name string
	for which, n := range map[string]*int64{"Com_stmt_prepare": &prepared, "Com_stmt_execute": &executed} {
		if err := db.SQL().QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE '"+which+"'").Scan(&name, n); err != nil {
			t.Fatal(err)
		}
	}
	return prepared, executed
}

func counts(db *sqlstore.DB) int {
	if db.Dialect() == migrations.SQLite {
		return 0
	}
	return 1
}

// TestCheckThatCannotBePreparedIsAskedByItsText: max_prepared_stmt_count may be used up, and a
// proxy may know no prepared statements or lead one to a server that does not have it. That is
// said once. Any other error is an error. Where all is well a connection prepares once.
func TestCheckThatCannotBePreparedIsAskedByItsText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare, run, plain error
		text                bool
	}{
		"all is well":                 {},
		"no room for one more":        {prepare: &mysql.MySQLError{Number: 1461}, text: true},
		"no such command":             {prepare: &mysql.MySQLError{Number: 1047}, text: true},
		"a node that decides nothing": {prepare: &mysql.MySQLError{Number: 1047}, plain: &mysql.MySQLError{Number: 1047}, text: true},
		"no such statement there":     {run: &mysql.MySQLError{Number: 1243}, text: true},
		"no room on this connection":  {run: &mysql.MySQLError{Number: 1461}, text: true},
		"prepared too often":          {run: &mysql.MySQLError{Number: 1615}, text: true},
		"another error when prepared": {prepare: &mysql.MySQLError{Number: 1146}},
		"another error when run":      {run: &mysql.MySQLError{Number: 1317}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &reluctant{prepare: c.prepare, run: c.run, plain: c.plain}
			pool := sql.OpenDB(server)
			defer func() { _ = pool.Close() }()
			pool.SetMaxOpenConns(1)
			var log bytes.Buffer
			err := sqlstore.QueryLookup(t.Context(), pool, slog.New(slog.NewTextHandler(&log, nil)), 3)
			want, lines := errors.Join(c.prepare, c.run), 0
			if c.text {
				want = c.plain
			}
			if c.text && want == nil {
				lines = 1
			}
			if (err == nil) != (want == nil) || server.texts > 0 != c.text {
				t.Errorf("%v, %d texts; want %v, and the text %v", err, server.texts, want, c.text)
			}
			if n := bytes.Count(log.Bytes(), []byte("\n")); n != lines {
				t.Errorf("said %d times, want %d: %s", n, lines, &log)
			}
			if c.prepare == nil && server.prepared != 1 {
				t.Errorf("prepared %d times on one connection", server.prepared)
			}
		})
	}
}

// A reluctant server fails to prepare a statement or to run it, but runs any text.
type reluctant struct {
	prepare, run, plain error
	texts, prepared     int
}

func (r *reluctant) Connect(context.Context) (driver.Conn, error) { return r, nil }
func (r *reluctant) Driver() driver.Driver                        { return nil }
func (r *reluctant) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (r *reluctant) NumInput() int                                { return -1 }
func (r *reluctant) Close() error                                 { return nil }
func (r *reluctant) Exec([]driver.Value) (driver.Result, error)   { return nil, errors.ErrUnsupported }
func (r *reluctant) Query([]driver.Value) (driver.Rows, error)    { return noRows{}, r.run }
func (r *reluctant) Prepare(string) (driver.Stmt, error) {
	r.prepared++
	return r, r.prepare
}

func (r *reluctant) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	r.texts++
	return noRows{}, r.plain
}

type noRows struct{}

func (noRows) Columns() []string         { return nil }
func (noRows) Close() error              { return nil }
func (noRows) Next([]driver.Value) error { return io.EOF }
