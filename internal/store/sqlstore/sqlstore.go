// Package sqlstore keeps users, their logins and the settings in SQL: the
// truth that every tier in front of it remembers.
//
// Only statements of this package write the token columns of a row. A statement that replaces, ends
// or uses a login compares as it writes, or its transaction has locked the row and compared before.
// So no writer can end a newer login or revive an old one by mistake. None of these statements goes
// through GORM's Save or Updates, which would write back what was read earlier, or skip a zero.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/libtnb/sqlite"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"
	gormlogger "gorm.io/gorm/logger"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/migrations"
)

// Options says which database.
type Options struct {
	// Dialect is migrations.SQLite or migrations.MySQL (MariaDB too).
	Dialect migrations.Dialect
	// Source is a file path for SQLite, a DSN of go-sql-driver for MySQL.
	// [MySQLSource] makes one from a URL.
	Source string
	// Patient lets a statement take as long as it takes: a migration may rebuild
	// a large table. Requests want the opposite.
	Patient bool
	// Log gets slow statements and broken connections, never the text or the values
	// of a statement.
	Log *slog.Logger
}

// A DB is an open database.
type DB struct {
	gorm *gorm.DB
	sql  *sql.DB
	d    dialect
	// turn holds one token that a change takes while it runs, or is nil if the
	// database lets changes run beside each other.
	turn    chan struct{}
	further atomic.Bool   // there may be further slots: see tables
	late    time.Duration // what a change may take before it is stamped anew
	from    *connector    // of a MySQL; nil for SQLite
	file    *heldFile     // of a SQLite; nil for MySQL
	lookups [2][2]lookup  // by the column, and whether there may be further slots
	// conns is the most connections there are, in use or idle.
	conns int

	exactly int64         // entries of an index that are counted one by one
	hurry   time.Duration // how long a count reads on for a smaller error
	ahead   time.Duration // see maxAhead

	overLimit audit.IDs // see RecordOverLimit; nil: no event is written
}

// Open connects and checks that the database answers. It does not migrate.
func Open(ctx context.Context, o Options) (*DB, error) {
	var (
		dialector gorm.Dialector
		d         dialect
		conns     int
		from      *connector
	)
	switch o.Dialect {
	case migrations.SQLite:
		d, dialector, conns = sqliteDialect, sqlite.Open(sqliteSource(o.Source)), 8
	case migrations.MySQL:
		pool, made, err := openMySQL(o.Source, o.Patient, o.Log)
		if err != nil {
			return nil, fmt.Errorf("sqlstore: open: %w", err)
		}
		from = made
		d, dialector, conns = mysqlDialect, gormmysql.New(gormmysql.Config{Conn: pool, SkipInitializeWithVersion: true}), 32
	default:
		return nil, fmt.Errorf("sqlstore: open: no dialect %q", o.Dialect)
	}
	g, err := gorm.Open(dialector, &gorm.Config{
		Logger: logger{o.Log}, TranslateError: true, DisableAutomaticPing: true,
		// Every change here is one statement or opens its own transaction.
		SkipDefaultTransaction: true,
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open: %w", err)
	}
	pool, err := g.DB()
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open: %w", err)
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxLifetime(30 * time.Minute)
	db := &DB{gorm: g, sql: pool, d: d, late: late, from: from, conns: conns, exactly: exactly, hurry: hurry, ahead: maxAhead}
	if d.name == migrations.SQLite {
		db.turn = make(chan struct{}, 1)
	}
	if err := db.Ping(ctx); err != nil {
		_ = pool.Close()
		return nil, err
	}
	if from == nil {
		if err := db.keepFile(ctx, o); err != nil {
			return nil, fmt.Errorf("sqlstore: open: %w", errors.Join(err, db.Close()))
		}
	} else if from.server.Load().mariaDB() {
		db.d.shareNow = mariaDBShareNow
	}
	db.prepareLookups(o.Log)
	return db, nil
}

// SQL is the pool of connections, for what speaks SQL without GORM: the
// migrations and the worker numbers.
func (db *DB) SQL() *sql.DB { return db.sql }

// Dialect is what the database speaks.
func (db *DB) Dialect() migrations.Dialect { return db.d.name }

// Ping asks the database for a sign of life.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.file.check(); err != nil {
		return failed("ping", err)
	}
	return failed("ping", db.sql.PingContext(ctx))
}

// query reads rows into a pointer, within tau.
func (db *DB) query(ctx context.Context, into any, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	return db.gorm.WithContext(ctx).Raw(statement, args...).Scan(into).Error
}

// ask is the first row that a query has, within tau, or none if it has none.
func ask[T any](ctx context.Context, db *DB, none error, query string, args ...any) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	return first[T](db.gorm.WithContext(ctx), none, query, args...)
}

// first is ask on a connection, or in a transaction.
func first[T any](on *gorm.DB, none error, query string, args ...any) (row T, err error) {
	var rows []T
	err = on.Raw(query, args...).Scan(&rows).Error
	if err == nil && len(rows) == 0 {
		err = none
	}
	if err != nil {
		return row, err
	}
	return rows[0], nil
}

// exec runs a statement that changes rows, within tau, as retry does.
func (db *DB) exec(ctx context.Context, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	return db.retry(ctx, func() error { return db.gorm.WithContext(ctx).Exec(statement, args...).Error })
}

// Clock reads the clock of the database.
func (db *DB) Clock(ctx context.Context) (time.Time, error) {
	var now int64
	if err := db.query(ctx, &now, "SELECT "+db.d.now); err != nil {
		return time.Time{}, fmt.Errorf("sqlstore: clock: %w", err)
	}
	return fromMillis(now), nil
}

// Leave lets no connection that there is be used once more; those that are in use may
// finish. It is for when a question got no answer in time: its connection may lead
// nowhere, and so may the others: a firewall that has forgotten them, or a host that is
// gone, sends no reset. Each would cost the next request that takes it its full time. A
// new connection shows at once whether the database is there, and may lead to the
// server that has its place.
func (db *DB) Leave() {
	if db.from != nil {
		db.from.leave()
	}
	db.sql.SetMaxIdleConns(0)
	db.sql.SetMaxIdleConns(db.conns)
}

// galera reports whether every server of the database takes writes. Two transactions
// on two of them then wait for no locks of each other; if both change one row, one of
// them fails.
func (db *DB) galera() bool { return db.from != nil && db.from.server.Load().galera() }

// Several reports whether the database is one of several servers, any of which may come
// to decide without a loss of what was acknowledged.
func (db *DB) Several() bool { return db.from != nil && db.from.server.Load().several() }

// Replaceable reports whether another server may have replaced the one that answers without its
// reads showing that: a member of a group, or a source with a semi-synchronous replica. A read on a
// node of Galera waits for the others.
func (db *DB) Replaceable() bool { return db.from != nil && db.from.replaceable.Load() }

// ReplaceableFlag is what [DB.Replaceable] says, for who asks at each check.
func (db *DB) ReplaceableFlag() *atomic.Bool {
	if db.from == nil {
		return new(atomic.Bool)
	}
	return &db.from.replaceable
}

// demoted returns err. If it says that the server takes no writes, its connections are
// left.
func (db *DB) demoted(err error) error {
	if errors.Is(err, ErrReadOnly) {
		db.Leave()
	}
	return err
}

// Close closes all connections. Those to a SQLite file that was replaced stay open until
// the process ends: SQLite would write the log of the old file into the one in its place.
func (db *DB) Close() error {
	if db.file.check() != nil {
		return nil
	}
	return errors.Join(db.file.close(), db.sql.Close())
}

// tau is how long one question or one change may take, waiting for a connection,
// for locks and for an ID included: no change becomes visible later than that
// after it was stamped. The driver's own limit is longer, for it must not cut
// off what the end of the context is about to.
const tau = 3 * time.Second

// A logger passes on what GORM has to say, without statements and without
// values: GORM's own logger writes both to standard output.
type logger struct{ log *slog.Logger }

const slow = 500 * time.Millisecond

func (l logger) LogMode(gormlogger.LogLevel) gormlogger.Interface { return l }
func (l logger) Info(context.Context, string, ...any)             {}
func (l logger) Warn(context.Context, string, ...any)             {}
func (l logger) Error(context.Context, string, ...any)            {}

// ParamsFilter keeps values out of whatever GORM would write of a statement.
func (l logger) ParamsFilter(_ context.Context, statement string, _ ...any) (string, []any) {
	return statement, nil
}

var _ gorm.ParamsFilter = logger{}

func (l logger) Trace(ctx context.Context, begin time.Time, _ func() (string, int64), err error) {
	if l.log == nil || errors.Is(err, gorm.ErrRecordNotFound) {
		return
	}
	if took := time.Since(begin); took > slow && err == nil {
		l.log.WarnContext(ctx, "slow statement", "took", took)
	}
}
