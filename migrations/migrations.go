// Package migrations holds the database schema as numbered steps in SQL and
// brings a database to the one that this program needs.
//
// The files in mysql/ serve MySQL 8.4 and newer and MariaDB 10.11 and newer;
// those in sqlite/ have the same numbers and names and lead to tables of the
// same meaning. Every instant in a table is an integer of Unix milliseconds in
// UTC. Names, hashes and tokens compare byte by byte.
//
// A file that was released never changes; a change to the schema is a new file
// with the next number, in both folders.
//
//   - In mysql/, a file is one statement. MySQL commits before and after each
//     statement that changes the schema, so a second one could be cut off from
//     the first. A statement that was done must fail when it is run again: CREATE
//     TABLE without IF NOT EXISTS, ADD COLUMN, ADD KEY. That is how a step is
//     recognised that was cut off from its record. DROP TABLE IF EXISTS may run again.
//   - In sqlite/, a file is one transaction, together with the record that it
//     was applied. It must not say NO TRANSACTION: that the two cannot come
//     apart is what lets several processes migrate one file at once.
package migrations

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed mysql/*.sql sqlite/*.sql
var files embed.FS

var (
	// ErrBehind means that the database lacks migrations of this program.
	ErrBehind = errors.New("the database is behind this program")
	// ErrAhead means that the database has migrations that this program does
	// not know: a newer release has been at work. An older program must not
	// write to it.
	ErrAhead = errors.New("the database is newer than this program")
)

// A Dialect says which database a pool of connections leads to.
type Dialect string

const (
	// MySQL is MySQL or MariaDB, through go-sql-driver.
	MySQL Dialect = "mysql"
	// SQLite is a SQLite file, through modernc.org/sqlite. Its DSN should set
	// busy_timeout.
	SQLite Dialect = "sqlite"
)

// Applied is a migration that was carried out, or undone, just now.
type Applied struct {
	Number int64
	Name   string
	Took   time.Duration
}

// A State tells of one migration whether it is in force.
type State struct {
	Number int64
	// Name is empty for a migration that the database has and this program
	// does not know.
	Name string
	// AppliedAt is by the database's clock, in UTC. It is zero for a migration
	// that has not been applied.
	AppliedAt time.Time
}

// Up applies what the database lacks, in order, and returns what this call has
// applied, also when it fails half-way. Any number of instances may call it at
// once, on an empty database too, and on any nodes of a cluster: each migration is
// applied by one of them, and all return when it is there. On a database that is up to
// date it reads, and neither takes a lock nor writes.
//
// On MySQL one instance does the work, however long it takes, and the others wait for
// it; log, which may be nil, says for whom. If it ends halfway, another goes on after 15 seconds.
// Renewing its claim takes a second connection of db; with one connection a step that
// takes longer is begun by a second instance too, which does no harm.
//
// It returns [ErrAhead] without a change when the database is newer. Any other
// failure names the migration; running Up again continues there.
func Up(ctx context.Context, db *sql.DB, d Dialect, log *slog.Logger) ([]Applied, error) {
	r, err := newRunner(db, d, log)
	if err != nil {
		return nil, err
	}
	return r.up(ctx)
}

func (r *runner) up(ctx context.Context) ([]Applied, error) {
	have, err := r.have(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrations: up: %w", err)
	}
	return r.run(ctx, r.lacking(have), up)
}

// Down undoes the newest migrations, at most steps of them, and returns what
// this call has undone, also when it fails half-way. What the tables of those
// migrations hold is lost. It returns [ErrAhead] without a change when the
// database is newer, for only the newer program knows how to undo the newest. It waits for
// other instances as [Up] does, and fails if one of them has added newer ones meanwhile.
func Down(ctx context.Context, db *sql.DB, d Dialect, steps int, log *slog.Logger) ([]Applied, error) {
	if steps < 1 {
		return nil, fmt.Errorf("migrations: down: %d steps; the least is 1", steps)
	}
	r, err := newRunner(db, d, log)
	if err != nil {
		return nil, err
	}
	have, err := r.have(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrations: down: %w", err)
	}
	return r.run(ctx, r.newestOf(have, steps), down)
}

// Status lists all migrations that this program knows or the database has, in
// the order of their numbers. It only reads.
func Status(ctx context.Context, db *sql.DB, d Dialect) ([]State, error) {
	r, err := newRunner(db, d, nil)
	if err != nil {
		return nil, err
	}
	have, err := r.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrations: status: %w", err)
	}
	states := make([]State, 0, len(r.known))
	for _, m := range r.known {
		states = append(states, State{Number: m.number, Name: m.name, AppliedAt: have[m.number]})
		delete(have, m.number)
	}
	for number, at := range have {
		states = append(states, State{Number: number, AppliedAt: at})
	}
	slices.SortFunc(states, func(a, b State) int { return cmp.Compare(a.Number, b.Number) })
	return states, nil
}

// Check returns nil if the database has exactly the migrations of this program,
// and otherwise [ErrBehind] or [ErrAhead] with the numbers. It only reads.
func Check(ctx context.Context, db *sql.DB, d Dialect) error {
	r, err := newRunner(db, d, nil)
	if err != nil {
		return err
	}
	have, err := r.have(ctx)
	if err != nil {
		return fmt.Errorf("migrations: check: %w", err)
	}
	for _, m := range r.known {
		if !have.has(m) {
			return fmt.Errorf("migrations: check: %w: it is at %d and lacks %s, the program needs %d; run `flakepass migrate up`",
				ErrBehind, have.newest(), m, r.newest())
		}
	}
	return nil
}

// needed asks how many migrations of this program a database has, of how many.
var needed = sync.OnceValues(func() (query string, n int) {
	list, _ := files.ReadDir("mysql") // it is in the program
	numbers := make([]string, 0, len(list))
	for _, file := range list {
		number, _, _ := strings.Cut(file.Name(), "_")
		numbers = append(numbers, number)
	}
	return "SELECT COUNT(*) FROM " + recordTable + " WHERE number IN (" + strings.Join(numbers, ", ") + ")", len(numbers)
})

// Behind reports whether the database lacks a migration of this program. It asks for less
// than [Check], for one that asks often: a database that has no record of migrations is
// an error.
func Behind(ctx context.Context, db *sql.DB) (bool, error) {
	query, n := needed()
	var have int
	if err := db.QueryRowContext(ctx, query).Scan(&have); err != nil {
		return false, fmt.Errorf("migrations: behind: %w", err)
	}
	return have < n, nil
}
