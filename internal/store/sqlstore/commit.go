package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"
)

// What database/sql asks of a connection of go-sql-driver, beside [driver.Conn]: to
// pass on statements, and to be one that is kept.
type (
	statements interface {
		driver.ExecerContext
		driver.QueryerContext
		driver.ConnPrepareContext
		driver.NamedValueChecker
	}
	pooled interface {
		driver.ConnBeginTx
		driver.Pinger
		driver.SessionResetter
		driver.Validator
	}
)

// A timedConn is a connection whose commits end with the time of their transaction.
// The driver waits for a COMMIT as long as its own limit says, which is longer.
type timedConn struct {
	driver.Conn
	statements
	pooled
}

func newTimedConn(conn driver.Conn) (timedConn, error) {
	to, ok := conn.(statements)
	of, is := conn.(pooled)
	if !ok || !is {
		return timedConn{}, errors.New("a connection that is not one of go-sql-driver")
	}
	return timedConn{conn, to, of}, nil
}

// BeginTx begins a transaction that has the deadline of ctx.
func (c timedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.pooled.BeginTx(ctx, o)
	until, ok := ctx.Deadline()
	if err != nil || !ok {
		return tx, err
	}
	return timedTx{tx, c, until}, nil
}

type timedTx struct {
	driver.Tx
	conn  timedConn
	until time.Time
}

// Commit is not cut short by a client that goes away: what is committed then is
// still reported to the other instances.
func (t timedTx) Commit() error {
	ctx, cancel := context.WithDeadline(context.Background(), t.until)
	defer cancel()
	_, err := t.conn.ExecContext(ctx, "COMMIT", nil)
	return err
}
