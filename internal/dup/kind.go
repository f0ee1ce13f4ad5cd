//go:build unix

package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"time"

	_ "github.com/go-sql-driver/mysql" // the row "mysql"
	_ "modernc.org/sqlite"             // the row "sqlite"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/fileworker"
	"github.com/flakepass/flakepass/idworker/sqlworker"
)

// patience is how long an owner has to be silent before its number is given to
// another: much less than a stopped process stays stopped.
const patience = 300 * time.Millisecond

// A kind of lender is a row of the table. To try another lender, add its kind.
type kind struct {
	name string

	// fenced lenders promise that nothing is minted twice.
	fenced bool

	// server is what the lender's server is called by withservers, which knows
	// how to start it; "" for none. It has to keep what it acknowledged when it
	// is killed.
	server string

	// shared says that a number may be configured: two processes get the same.
	shared bool

	// address is where the server listens; nil if there is none.
	address func(port int) string

	// make prepares an empty store. address is where the server listens, and dir
	// a folder for a lender without one; what it returns is the order's Address.
	make func(ctx context.Context, address, dir string) (string, error)

	// ready says whether the server answers; nil if there is none.
	ready func(ctx context.Context, address string) error

	// open is a Lender of one process, whose ranges begin at now.
	open func(o order, now func() time.Time) (idworker.Lender, error)
}

func kinds() []kind {
	return []kind{
		{
			name: "file", fenced: true,
			make: func(_ context.Context, _, dir string) (string, error) { return dir, nil },
			open: func(o order, now func() time.Time) (idworker.Lender, error) {
				return &fileworker.Lender{Dir: o.Address, Numbers: 64, Now: now}, nil
			},
		},
		{
			name: "sqlite", fenced: true, shared: true,
			make: func(ctx context.Context, _, dir string) (string, error) {
				source := "file:" + filepath.Join(dir, "db") +
					"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
				return source, execute(ctx, "sqlite", source, nodes)
			},
			open: func(o order, now func() time.Time) (idworker.Lender, error) {
				return sqlLender("sqlite", sqlworker.SQLite, o, now)
			},
		},
		{
			name: "mysql", fenced: true, shared: true, server: "mysql",
			address: func(port int) string { return fmt.Sprintf("root@tcp(127.0.0.1:%d)/", port) },
			make: func(ctx context.Context, address, _ string) (string, error) {
				source := address + "mysql?timeout=1s&readTimeout=2s&writeTimeout=2s"
				return source, execute(ctx, "mysql", source, nodes)
			},
			ready: func(ctx context.Context, address string) error { return execute(ctx, "mysql", address, "DO 1") },
			open: func(o order, now func() time.Time) (idworker.Lender, error) {
				return sqlLender("mysql", sqlworker.MySQL, o, now)
			},
		},
		{
			name: "unfenced", shared: true,
			make: func(context.Context, string, string) (string, error) { return "", nil },
			open: func(o order, now func() time.Time) (idworker.Lender, error) {
				return unfenced{o.Number, now}, nil
			},
		},
	}
}

func kindOf(name string) (kind, error) {
	for _, k := range kinds() {
		if k.name == name {
			return k, nil
		}
	}
	return kind{}, fmt.Errorf("there is no lender %q", name)
}

const nodes = `CREATE TABLE worker_nodes (
	number INT NOT NULL PRIMARY KEY, owner_token VARCHAR(64) NOT NULL, holder VARCHAR(255) NOT NULL,
	fence_ms BIGINT NOT NULL, seen_at BIGINT NOT NULL)`

func execute(ctx context.Context, driver, source, statement string) error {
	db, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, statement)
	return err
}

func sqlLender(driver string, d sqlworker.Dialect, o order, now func() time.Time) (idworker.Lender, error) {
	db, err := sql.Open(driver, o.Address)
	if err != nil {
		return nil, err
	}
	return &sqlworker.Lender{DB: db, Dialect: d, Only: o.Number, Stale: patience, Now: now}, nil
}

// unfenced lends as most generators do: a number that was configured, from now
// on, to whoever starts with it. Nobody remembers anything.
type unfenced struct {
	number *int
	now    func() time.Time
}

func (u unfenced) Acquire(_ context.Context, window time.Duration) (idworker.Grant, error) {
	g := idworker.Grant{Token: "configured", From: u.now()}
	if u.number != nil {
		g.Number = *u.number
	}
	g.Until = g.From.Add(window)
	return g, nil
}

func (unfenced) Extend(_ context.Context, g idworker.Grant, until time.Time) (idworker.Grant, error) {
	g.Until = until
	return g, nil
}

func (unfenced) Release(context.Context, idworker.Grant, time.Time) error { return nil }
