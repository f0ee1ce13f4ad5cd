package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"
)

// errMoved means that a row is no longer as it was read.
var errMoved = errors.New("the row changed meanwhile")

// retry runs f again when it lost a race that it may win the next time: a
// compare-and-set that found another value, a deadlock that the database
// broke, an ID that another row had. Each of these left nothing behind. ctx
// says when to give up; every caller's ends within tau.
//
// SQLite has one writer at a time. One that waits for it sleeps and tries again, in
// no order. In one process the changes take turns instead, in the order in which
// they came.
func (db *DB) retry(ctx context.Context, f func() error) error { return db.retryIf(ctx, lost, f) }

// retryIf is retry for those errors alone.
func (db *DB) retryIf(ctx context.Context, lost func(error) bool, f func() error) error {
	for try := 1; ; try++ {
		err := db.inTurn(ctx, f)
		if err == nil || !lost(err) {
			return err
		}
		wait := time.Duration(rand.Int64N(int64(min(try, 8)) * int64(2*time.Millisecond))) //nolint:gosec // only so that two losers do not meet again
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(wait):
		}
	}
}

// inTurn runs f when it is its turn. A writer of another process may hold the
// file meanwhile. SQLite waits for that as long as its busy_timeout says,
// whatever becomes of ctx, so that is short and f is run again while ctx lives:
// a busy file lets no transaction begin, and nothing has happened.
func (db *DB) inTurn(ctx context.Context, f func() error) error {
	if db.turn == nil {
		return f()
	}
	select {
	case db.turn <- struct{}{}:
		defer func() { <-db.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		err := ctx.Err() // the turn may have come with the end
		if err == nil {
			err = db.file.check()
		}
		if err == nil {
			err = f()
		}
		if err == nil { // what was committed to a file that is gone by now is not acknowledged
			err = db.file.check()
		}
		if !busy(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(time.Millisecond):
		}
	}
}

// busy reports SQLITE_BUSY.
func busy(err error) bool {
	const sqliteBusy = 5
	return SQLiteCode(err) == sqliteBusy
}

// SQLiteCode is that of SQLite's error, without its extended kind; 0 if it is none.
func SQLiteCode(err error) int {
	coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	if !ok {
		return 0
	}
	return coded.Code() & 0xff
}

// lost reports that the database undid a transaction because of another one, on the same
// server or on another one, or that a row was not as it was read.
func lost(err error) bool {
	return means(err, lostRace) || errors.Is(err, errMoved) || errors.Is(err, gorm.ErrDuplicatedKey)
}

// ErrReplaced means that the path of a SQLite database, or of its -wal or -shm, leads to
// another file than the one that is open, or to none.
var ErrReplaced = errors.New("the file of the database, or its -wal or -shm, was replaced or removed while it was open; restart this process " +
	"(what it committed to a file that is gone can be copied from /proc/PID/fd before that)")

// A heldFile is the file of a SQLite database, as it was opened, with its -wal and -shm.
// Connections go on with a file that was moved away or removed, and see nothing of what
// others commit to the one that has its place. This is so for the -wal alone, too: a copy
// over the file in place keeps the file, but whoever restores one removes the -wal first.
// A nil heldFile is that of a server.
type heldFile struct {
	path   string
	opened map[string]os.FileInfo // by the path
	log    *slog.Logger
	// keep has one connection of its own, which is open as long as the database: the last
	// connection that closes removes the -wal and the -shm.
	keep *sql.DB
	// gone stays, also if the file comes back: connections that were made
	// meanwhile lead to the other one.
	gone atomic.Bool

	mu   sync.Mutex
	said time.Time
}

// keepFile sets db.file.
func (db *DB) keepFile(ctx context.Context, o Options) (err error) {
	if db.file, err = holdFile(ctx, o.Source, o.Log); err != nil {
		return err
	}
	return db.file.guard(db.gorm)
}

// holdFile returns nil if there is no file.
func holdFile(ctx context.Context, path string, log *slog.Logger) (*heldFile, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, nil //nolint:nilerr,nilnil // a database in memory
	}
	keep, err := sql.Open(sqlite.DriverName, sqliteSource(path))
	if err != nil {
		return nil, err
	}
	f := &heldFile{path: path, opened: make(map[string]os.FileInfo), log: cmp.Or(log, slog.New(slog.DiscardHandler)), keep: keep}
	var tables int // the first read opens the -wal and the -shm
	keep.SetMaxOpenConns(1)
	if err := keep.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return nil, errors.Join(err, keep.Close())
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if opened, err := os.Stat(name); err == nil {
			f.opened[name] = opened
		}
	}
	return f, nil
}

// close closes that connection.
func (f *heldFile) close() error {
	if f == nil {
		return nil
	}
	return f.keep.Close()
}

// same reports whether each path still leads to the file that was opened.
func (f *heldFile) same() bool {
	for path, opened := range f.opened {
		now, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(opened, now) {
			return false
		}
	}
	return true
}

// check looks at the files. It returns [ErrReplaced], and logs that once a minute, from
// when one of them was first found to be another one.
func (f *heldFile) check() error {
	if f == nil {
		return nil
	}
	if !f.gone.Load() {
		if f.same() {
			return nil
		}
		f.gone.Store(true)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.said) >= time.Minute {
		f.said = time.Now()
		f.log.Error("the database decides nothing any more", "file", f.path, "err", ErrReplaced)
	}
	return ErrReplaced
}

// found is what the last check has found.
func (f *heldFile) found() error {
	if f != nil && f.gone.Load() {
		return ErrReplaced
	}
	return nil
}

// guard lets every statement fail after a check has found another file.
func (f *heldFile) guard(db *gorm.DB) error {
	if f == nil {
		return nil
	}
	const name = "flakepass:file"
	refuse := func(tx *gorm.DB) { _ = tx.AddError(f.found()) }
	on := db.Callback()
	return errors.Join(
		on.Query().Before("gorm:query").Register(name, refuse), on.Row().Before("gorm:row").Register(name, refuse),
		on.Raw().Before("gorm:raw").Register(name, refuse), on.Create().Before("gorm:create").Register(name, refuse),
	)
}
