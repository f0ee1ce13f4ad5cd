package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
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

// A mysqlConn is a connection whose commits end with the time of their transaction, and
// that is given up, with all others of its pool, when its server says that it decides
// nothing any more.
type mysqlConn struct {
	driver.Conn
	statements
	pooled

	from       *connector
	generation int64
	server     string // its name; empty until it has said it
}

func newConn(conn driver.Conn, from *connector, generation int64) (*mysqlConn, error) {
	to, ok := conn.(statements)
	of, is := conn.(pooled)
	if !ok || !is {
		return nil, errors.New("a connection that is not one of go-sql-driver")
	}
	return &mysqlConn{conn, to, of, from, generation, ""}, nil
}

// ExecContext passes on a statement.
func (c *mysqlConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.statements.ExecContext(ctx, query, args)
	return result, c.look(err)
}

// QueryContext passes on a question. The answer of a server that another one has
// replaced is none: database/sql asks again on another connection, if it may.
func (c *mysqlConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.statements.QueryContext(ctx, query, args)
	return c.answer(ctx, rows, err)
}

// answer is what a question has brought, unless another server has replaced this one.
func (c *mysqlConn) answer(ctx context.Context, rows driver.Rows, err error) (driver.Rows, error) {
	if err == nil && c.replaced(ctx) {
		return nil, errors.Join(driver.ErrBadConn, rows.Close())
	}
	return rows, c.look(err)
}

// replaced reports whether the last poll was on another server. This one may have stood
// still since, and answer with what it had; that the poll succeeded is no proof of it. Each
// node of Galera proves itself, by the wait of a read.
func (c *mysqlConn) replaced(ctx context.Context) bool {
	decides := c.from.decides.Load()
	return decides != nil && c.server != "" && c.server != *decides && ctx.Value(polling{}) == nil
}

// polling marks the context of a poll, which may find another server.
type polling struct{}

// look leaves the server if that is what the error is about, and returns the error. Connections
// that are made from now on may lead to the server that has its place.
func (c *mysqlConn) look(err error) error {
	switch {
	case means(err, readOnly):
		err = refusedWrite{err}
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: the database did not finish in time; a table may be locked, or its server slow", err)
	}
	if err != nil && c.generation == c.from.generation.Load() && undecided(err) {
		c.from.leave()
	}
	if errors.Is(err, ErrReadOnly) {
		c.generation = none // also if others were left just now, and this one is newer
	}
	return err
}

// none is no generation of connections.
const none = -1

// undecided reports that a server takes no part in the decisions of its cluster any
// more, takes no writes, or is gone.
func undecided(err error) bool { return means(err, decidesNo) || errors.Is(err, driver.ErrBadConn) }

// IsValid reports whether the connection may be used once more, when it becomes free.
func (c *mysqlConn) IsValid() bool {
	return c.generation == c.from.generation.Load() && c.pooled.IsValid()
}

// ResetSession is called when a connection that was free is to be used. One that was left
// meanwhile is not.
func (c *mysqlConn) ResetSession(ctx context.Context) error {
	if c.generation != c.from.generation.Load() {
		return driver.ErrBadConn
	}
	return c.pooled.ResetSession(ctx)
}

// PrepareContext prepares a statement on the connection. What it answers is looked at as that
// of a statement that is not prepared.
func (c *mysqlConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.statements.PrepareContext(ctx, query)
	if err != nil {
		return nil, c.look(err)
	}
	run, ok := s.(bound)
	if !ok {
		return nil, errors.Join(errors.New("a statement that is not one of go-sql-driver"), s.Close())
	}
	return mysqlStmt{s, run, c}, nil
}

// bound is what database/sql asks of a statement of go-sql-driver, beside [driver.Stmt].
type bound interface {
	driver.StmtExecContext
	driver.StmtQueryContext
	driver.NamedValueChecker
}

// A mysqlStmt is a statement that is prepared on a [mysqlConn].
type mysqlStmt struct {
	driver.Stmt
	bound

	on *mysqlConn
}

// ExecContext runs the statement as that of the connection does.
func (s mysqlStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	result, err := s.bound.ExecContext(ctx, args)
	return result, s.on.look(err)
}

// QueryContext asks as that of the connection does.
func (s mysqlStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.bound.QueryContext(ctx, args)
	return s.on.answer(ctx, rows, err)
}

// BeginTx begins a transaction that has the deadline of ctx.
func (c *mysqlConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.pooled.BeginTx(ctx, o)
	until, ok := ctx.Deadline()
	if err != nil || !ok {
		return tx, c.look(err)
	}
	return timedTx{tx, c, until}, nil
}

// A timedTx is a transaction with a deadline. The driver waits for a COMMIT as long as
// its own limit says, which is longer.
type timedTx struct {
	driver.Tx
	conn  *mysqlConn
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
