package main

import (
	"context"
	"database/sql"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/store/gormstore"
)

// patience is how long a test waits for what has to come. Nothing that works
// takes nearly as long; it is the limit on a machine that stands still.
const patience = 30 * time.Second

// A deployment is one database, with or without a Redis, on which any number of
// instances run.
type deployment struct {
	vars  map[string]string
	dsn   string               // of MySQL and MariaDB
	file  string               // of SQLite
	redis *testenv.RedisServer // nil if there is none
}

func onSQLite(t testing.TB) *deployment {
	dir := filepath.Join(t.TempDir(), "data")
	return newDeployment(map[string]string{"FLAKEPASS_DATA_DIR": dir}, &deployment{file: filepath.Join(dir, "flakepass.db")})
}

func onMySQL(t testing.TB) *deployment { return onServer(t, testenv.MySQL(t), testenv.Redis(t)) }

// onBothStores runs a test with nothing configured, and as a deployment of
// several instances has it.
func onBothStores(t *testing.T, f func(t *testing.T, d *deployment)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); f(t, onSQLite(t)) })
	t.Run("mysql-redis", func(t *testing.T) { t.Parallel(); f(t, onMySQL(t)) })
}

func onMariaDB(t testing.TB) *deployment { return onServer(t, testenv.MariaDB(t), testenv.Redis(t)) }

func onMySQLAlone(t testing.TB) *deployment { return onServer(t, testenv.MySQL(t), nil) }

func onServer(t testing.TB, dsn string, redis *testenv.RedisServer) *deployment {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(c.User, c.Passwd), Host: c.Addr, Path: "/" + c.DBName}
	vars := map[string]string{"FLAKEPASS_DATA_DIR": t.TempDir(), "FLAKEPASS_DATABASE": u.String()}
	if redis != nil {
		vars["FLAKEPASS_REDIS"] = redis.URL()
	}
	return newDeployment(vars, &deployment{dsn: dsn, redis: redis})
}

func newDeployment(vars map[string]string, d *deployment) *deployment {
	vars["FLAKEPASS_LISTEN"], vars["FLAKEPASS_OPS_LISTEN"] = "127.0.0.1:0", "127.0.0.1:0"
	vars["FLAKEPASS_REVOCATION_BOUND"] = bound.String()
	vars["FLAKEPASS_LOG_LEVEL"] = "debug"
	vars["FLAKEPASS_HASH_PROCESS"] = "off" // it would be a whole test binary
	vars["FLAKEPASS_THROTTLE"] = "off"     // all who log in come from one address
	d.vars = vars
	return d
}

// bound is the revocation bound of all deployments here: the shortest.
const bound = time.Second

// with is the variables of the deployment and more, as NAME, value, ...
func (d *deployment) with(more ...string) map[string]string {
	vars := map[string]string{}
	for name, value := range d.vars {
		vars[name] = value
	}
	for i := 0; i < len(more); i += 2 {
		vars[more[i]] = more[i+1]
	}
	return vars
}

// config is what an instance of the deployment is told.
func (d *deployment) config(t testing.TB, more ...string) config.Config {
	t.Helper()
	cfg, err := config.Load(config.Options{Environ: environ(d.with(more...))})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// An instance is a server that runs in this process.
type instance struct {
	public, ops string // host:port
	out, log    *testenv.Journal
	stop        func() error // ends the server in order, and returns what serve returned
}

// start runs an instance until the test ends. Its log must hold no panic and no
// error by then.
func (d *deployment) start(t testing.TB, more ...string) *instance {
	t.Helper()
	i := d.startLoud(t, more...)
	t.Cleanup(func() {
		for line := range strings.Lines(i.log.String()) {
			if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") {
				t.Errorf("the log has: %s", line)
			}
		}
	})
	return i
}

// startLoud is start, for a test that provokes errors in the log.
func (d *deployment) startLoud(t testing.TB, more ...string) *instance {
	t.Helper()
	cfg := d.config(t, more...)
	i := &instance{out: &testenv.Journal{}, log: &testenv.Journal{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ready, ended := make(chan struct{}), make(chan struct{})
	var result error
	go func() {
		defer close(ended)
		result = run.Serve(ctx, cfg, i.out, i.log, func(public, ops string) {
			i.public, i.ops = public, ops
			close(ready)
		})
	}()
	i.stop = func() error {
		cancel()
		<-ended
		return result
	}
	t.Cleanup(func() {
		if err := i.stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
		noToken(t, "what a server printed", i.out.String()+i.log.String())
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatalf("serve: %v\n%s", result, i.log)
	case <-time.After(patience):
		t.Fatalf("not ready\n%s", i.log)
	}
	return i
}

// sql is the deployment's database, without the program.
func (d *deployment) sql(t testing.TB) *sql.DB {
	t.Helper()
	driver, source := "mysql", d.dsn
	if d.file != "" {
		driver, source = "sqlite", "file:"+d.file+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// open is the deployment's database as a command opens it.
func (d *deployment) open(t testing.TB) *gormstore.DB {
	t.Helper()
	cfg, err := config.Load(config.Options{Environ: environ(d.vars)})
	if err != nil {
		t.Fatal(err)
	}
	db, err := run.Connect(t.Context(), cfg, slog.New(slog.DiscardHandler), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execute(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// count is the number that a query answers with.
func count(t testing.TB, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
