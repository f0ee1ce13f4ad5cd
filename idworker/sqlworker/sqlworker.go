// Package sqlworker lends worker numbers from a table, to any number of
// processes on any number of machines. It works on MySQL, MariaDB and SQLite,
// and imports no driver.
//
// The table has a row for each number that was ever used:
//
//	worker_nodes(
//		number      INT PRIMARY KEY,
//		owner_token VARCHAR(64)  NOT NULL, -- '' when free
//		holder      VARCHAR(255) NOT NULL, -- who has or had it, for people
//		fence_ms    BIGINT       NOT NULL, -- end of the last range lent
//		seen_at     BIGINT       NOT NULL) -- the owner's last sign of life
//
// All instants are in Unix milliseconds, seen_at by the database's clock.
//
// Every change is one statement that compares what it has read and commits by
// itself. The database has to keep what it acknowledges: MySQL with
// innodb_flush_log_at_trx_commit=1, its default, and SQLite with
// synchronous=FULL. With less, a power failure can move a fence back.
package sqlworker

import (
	"context"
	crand "crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/internal/lend"
)

var _ idworker.Lender = (*Lender)(nil)

const defaultStale = 30 * time.Second

// A Lender lends the numbers of a table. Set the fields before use.
type Lender struct {
	// DB is the database. It must be the primary: a replica that lags forgets.
	DB *sql.DB

	// Dialect is MySQL (also for MariaDB) or SQLite.
	Dialect Dialect

	// Holder is the name of the owner for people, such as "host:pid". It means nothing
	// to the Lender.
	Holder string

	// Only, if set, is the one number to lend, also if it has another owner. Processes that
	// share it by mistake take it from each other and mint in turns; they never
	// mint one ID twice.
	Only *int

	// Numbers is how many numbers there are, from 0. Zero means 1024.
	Numbers int

	// Stale is how long an owner has to be silent before its number may be taken
	// from it. That is a matter of politeness only. Zero means 30 s.
	Stale time.Duration

	// Now is the time at which ranges begin; nil means time.Now.
	Now func() time.Time
}

// Acquire implements [idworker.Lender]. In order of preference it takes a
// number that was given back, one whose owner has been silent for Stale, one
// that was never used, and one of the first two kinds whose fence is still
// ahead of the clock, nearest first.
func (l *Lender) Acquire(ctx context.Context, window time.Duration) (idworker.Grant, error) {
	words, err := l.Dialect.words()
	if err != nil {
		return idworker.Grant{}, fmt.Errorf("sqlworker: acquire: %w", err)
	}
	// In each round of a race one wins. The others look again; the more
	// it has lost, the wider it spreads its choice and its next attempt.
	for round := range 100 {
		if err := lend.Backoff(ctx, round); err != nil {
			return idworker.Grant{}, fmt.Errorf("sqlworker: acquire: %w", err)
		}
		now := lend.Now(l.Now)
		seat, err := l.choose(ctx, words, now, round)
		if err != nil {
			return idworker.Grant{}, fmt.Errorf("sqlworker: acquire: %w", err)
		}
		token := crand.Text()
		from := max(now, seat.fence)
		until := from + window.Milliseconds()
		won, err := l.sit(ctx, words, seat, token, until)
		if err != nil {
			return idworker.Grant{}, fmt.Errorf("sqlworker: acquire: %w", err)
		}
		if won {
			return idworker.Grant{
				Number: seat.number, Token: token,
				From: time.UnixMilli(from), Until: time.UnixMilli(until),
			}, nil
		}
	}
	return idworker.Grant{}, fmt.Errorf("sqlworker: acquire: %w: lost every race", idworker.ErrNoNumber)
}

// sit takes the seat, unless another process took it since it was read. Owner
// and fence are compared both: an owner may have moved its fence meanwhile, and
// the new range has to begin behind that.
func (l *Lender) sit(ctx context.Context, w words, s seat, token string, until int64) (bool, error) {
	if s.state == unused {
		return changed(l.DB.ExecContext(ctx, w.insert+` INTO worker_nodes (number, owner_token, holder, fence_ms, seen_at)
			VALUES (?, ?, ?, ?, `+w.now+`)`, s.number, token, lend.Holder(l.Holder), until))
	}
	return changed(l.DB.ExecContext(ctx, `UPDATE worker_nodes
		SET owner_token = ?, holder = ?, fence_ms = ?, seen_at = `+w.now+`
		WHERE number = ? AND owner_token = ? AND fence_ms = ?`,
		token, lend.Holder(l.Holder), until, s.number, s.owner, s.fence))
}

// Extend implements [idworker.Lender].
func (l *Lender) Extend(ctx context.Context, g idworker.Grant, until time.Time) (idworker.Grant, error) {
	words, err := l.Dialect.words()
	if err != nil {
		return idworker.Grant{}, fmt.Errorf("sqlworker: extend: %w", err)
	}
	fence := until.UnixMilli()
	raised, err := changed(l.DB.ExecContext(ctx, `UPDATE worker_nodes
		SET fence_ms = ?, seen_at = `+words.now+`
		WHERE number = ? AND owner_token = ? AND fence_ms < ?`, fence, g.Number, g.Token, fence))
	if err == nil && !raised {
		// Lost, or the fence is up already: an answer was lost. A token that is
		// the owner's now has been the owner's all along.
		err = l.DB.QueryRowContext(ctx, `SELECT fence_ms FROM worker_nodes
			WHERE number = ? AND owner_token = ?`, g.Number, g.Token).Scan(&fence)
		if errors.Is(err, sql.ErrNoRows) {
			err = idworker.ErrLost
		}
	}
	if err != nil {
		return idworker.Grant{}, fmt.Errorf("sqlworker: extend: %w", err)
	}
	g.Until = time.UnixMilli(fence)
	return g, nil
}

// Release implements [idworker.Lender].
func (l *Lender) Release(ctx context.Context, g idworker.Grant, used time.Time) error {
	words, err := l.Dialect.words()
	if err != nil {
		return fmt.Errorf("sqlworker: release: %w", err)
	}
	fence := max(lend.CeilMilli(used), g.From.UnixMilli())
	done, err := changed(l.DB.ExecContext(ctx, `UPDATE worker_nodes
		SET owner_token = '', fence_ms = CASE WHEN fence_ms > ? THEN ? ELSE fence_ms END, seen_at = `+words.now+`
		WHERE number = ? AND owner_token = ?`, fence, fence, g.Number, g.Token))
	if err == nil && !done {
		err = idworker.ErrLost
	}
	if err != nil {
		return fmt.Errorf("sqlworker: release: %w", err)
	}
	return nil
}

// changed reports whether a statement changed a row. Every statement here that
// finds its row also changes it, so it does not matter whether the driver
// counts rows found or rows changed.
func changed(r sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// A Dialect is the kind of SQL that a database speaks. The zero Dialect is
// none, so that a forgotten one is an error.
type Dialect int

// The dialects. MariaDB speaks MySQL's.
const (
	MySQL Dialect = iota + 1
	SQLite
)

// words are the pieces of SQL in which the dialects differ.
type words struct {
	now    string // the database's clock, in Unix milliseconds, whatever the time zone of the session
	insert string // insert, and change nothing if the key is there already
}

func (d Dialect) words() (words, error) {
	switch d {
	case MySQL:
		return words{now: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000", insert: "INSERT IGNORE"}, nil
	case SQLite:
		return words{now: "CAST(unixepoch('subsec') * 1000 AS INTEGER)", insert: "INSERT OR IGNORE"}, nil
	}
	return words{}, fmt.Errorf("unknown dialect %d", d)
}
