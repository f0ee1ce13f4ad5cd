//go:build unix

package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"time"

	_ "github.com/go-sql-driver/mysql" // the row "mysql"
	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the row "sqlite"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/fileworker"
	"github.com/flakepass/flakepass/idworker/redisworker"
	"github.com/flakepass/flakepass/idworker/sqlworker"
	"github.com/flakepass/flakepass/idworker/zkworker"
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

	// within, if set, is how wrong clocks may be: the lender refuses ranges that
	// begin later by its store's clock.
	within time.Duration

	// rest is how long the server is left alone after each disturbance, beside the
	// usual.
	rest time.Duration

	// slow says that a run of less than five minutes shows nothing.
	slow bool

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
			name: "zookeeper", fenced: true, server: "zookeeper",
			address: func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) },
			make:    func(_ context.Context, address, _ string) (string, error) { return address, nil },
			ready:   zooKeeperReady,
			open: func(o order, now func() time.Time) (idworker.Lender, error) {
				client := &zkworker.Client{Servers: []string{o.Address}, Session: time.Second}
				return &zkworker.Lender{Client: client, Root: "/dup", Now: now}, nil
			},
		},
		{
			// It keeps nothing: each restart is a loss of everything.
			name: "redis", fenced: true, shared: true, server: "redis",
			within: time.Second, rest: 10 * time.Second, slow: true,
			address: func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) },
			make:    func(_ context.Context, address, _ string) (string, error) { return address, nil },
			ready: func(ctx context.Context, address string) error {
				client := redis.NewClient(&redis.Options{Addr: address})
				defer func() { _ = client.Close() }()
				return client.Ping(ctx).Err()
			},
			open: func(o order, now func() time.Time) (idworker.Lender, error) {
				client := redis.NewClient(&redis.Options{Addr: o.Address, ContextTimeoutEnabled: true})
				return &redisworker.Lender{Client: client, Only: o.Number, Now: now}, nil
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

// zooKeeperReady asks for a node, which only a server that serves can answer.
func zooKeeperReady(ctx context.Context, address string) error {
	conn, _, err := zk.Connect([]string{address}, 2*time.Second, zk.WithLogInfo(false), zk.WithLogger(silence{}))
	if err != nil {
		return err
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() { _, _, err := conn.Exists("/"); answered <- err }()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// silence is where a client of ZooKeeper logs that a server that was killed is
// not there.
type silence struct{}

// Printf drops its arguments.
func (silence) Printf(string, ...any) {}

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
// on, to the process that starts with it. Nothing is stored.
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
