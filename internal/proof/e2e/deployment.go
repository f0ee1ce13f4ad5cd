package e2e

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
	"github.com/flakepass/flakepass/internal/proof/testenv/migrated"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// Patience is how long a test waits for what has to come. Nothing that works
// takes nearly as long; it is the limit on a machine that stands still.
const Patience = 2 * time.Minute

// A Deployment is one database, with or without a Redis, on which any number of
// instances run.
type Deployment struct {
	Vars  map[string]string
	DSN   string               // of MySQL and MariaDB
	File  string               // of SQLite
	Redis *testenv.RedisServer // nil if there is none
}

// OnSQLite is a deployment with nothing configured but where its database is. As those
// below, it has the newest schema: otherwise every test would apply all migrations.
func OnSQLite(t testing.TB) *Deployment { return onFile(migrated.SQLite(t)) }

// OnNothing is a deployment with nothing configured, before its first start.
func OnNothing(t testing.TB) *Deployment {
	return onFile(filepath.Join(t.TempDir(), "data", "flakepass.db"))
}

func onFile(path string) *Deployment {
	return NewDeployment(map[string]string{"FLAKEPASS_DATA_DIR": filepath.Dir(path)}, &Deployment{File: path})
}

// OnMySQL is a deployment on MySQL, with Redis.
func OnMySQL(t testing.TB) *Deployment { return OnServer(t, migrated.MySQL(t), testenv.Redis(t)) }

// OnBothStores runs a test with nothing configured, and as a deployment of
// several instances has it.
func OnBothStores(t *testing.T, f func(t *testing.T, d *Deployment)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); f(t, OnSQLite(t)) })
	t.Run("mysql-redis", func(t *testing.T) { t.Parallel(); f(t, OnMySQL(t)) })
}

// OnMariaDB is a deployment on MariaDB, with Redis.
func OnMariaDB(t testing.TB) *Deployment { return OnServer(t, migrated.MariaDB(t), testenv.Redis(t)) }

// OnMySQLAlone is a deployment on MySQL, without Redis.
func OnMySQLAlone(t testing.TB) *Deployment { return OnServer(t, migrated.MySQL(t), nil) }

// OnServer is a deployment on the database of dsn; redis may be nil.
func OnServer(t testing.TB, dsn string, redis *testenv.RedisServer) *Deployment {
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
	return NewDeployment(vars, &Deployment{DSN: dsn, Redis: redis})
}

// NewDeployment completes d with the settings that every instance of a test has.
func NewDeployment(vars map[string]string, d *Deployment) *Deployment {
	vars["FLAKEPASS_LISTEN"], vars["FLAKEPASS_OPS_LISTEN"] = "127.0.0.1:0", "127.0.0.1:0"
	vars["FLAKEPASS_REVOCATION_BOUND"] = Bound.String()
	vars["FLAKEPASS_LOG_LEVEL"] = "debug"
	vars["FLAKEPASS_SERVICE_PASSWORD_LOGIN"] = "on" // services with tokens go on working, and most tests have these
	vars["FLAKEPASS_IMPERSONATION"] = "on"
	vars["FLAKEPASS_HASH_PROCESS"] = "off" // it would be a whole test binary
	vars["FLAKEPASS_THROTTLE"] = "off"     // all who log in come from one address
	d.Vars = vars
	return d
}

// Bound is the revocation bound of all deployments here: the shortest.
const Bound = time.Second

// With is the variables of the deployment and more, as NAME, value, ...
func (d *Deployment) With(more ...string) map[string]string {
	vars := map[string]string{}
	for name, value := range d.Vars {
		vars[name] = value
	}
	for i := 0; i < len(more); i += 2 {
		vars[more[i]] = more[i+1]
	}
	return vars
}

// Config is the variables of an instance of the deployment.
func (d *Deployment) Config(t testing.TB, more ...string) config.Config {
	t.Helper()
	cfg, err := config.Load(config.Options{Environ: Environ(d.With(more...))})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// An Instance is a server that runs in this process.
type Instance struct {
	Public, Ops string // host:port
	Out, Log    *testenv.Journal
	Stop        func() error // ends the server in order, and returns what serve returned
}

// Start runs an instance until the test ends. Its log must hold no panic and no
// error by then.
func (d *Deployment) Start(t testing.TB, more ...string) *Instance {
	t.Helper()
	i := d.StartLoud(t, more...)
	t.Cleanup(func() {
		for line := range strings.Lines(i.Log.String()) {
			if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") {
				t.Errorf("the log has: %s", line)
			}
		}
	})
	return i
}

// StartLoud is start, for a test that provokes errors in the log.
func (d *Deployment) StartLoud(t testing.TB, more ...string) *Instance {
	t.Helper()
	cfg := d.Config(t, more...)
	i := &Instance{Out: &testenv.Journal{}, Log: &testenv.Journal{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ready, ended := make(chan struct{}), make(chan struct{})
	var result error
	go func() {
		defer close(ended)
		result = run.Serve(ctx, cfg, i.Out, i.Log, func(public, ops string) {
			i.Public, i.Ops = public, ops
			close(ready)
		})
	}()
	i.Stop = func() error {
		cancel()
		<-ended
		return result
	}
	t.Cleanup(func() {
		if err := i.Stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
		NoToken(t, "what a server printed", i.Out.String()+i.Log.String())
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatalf("serve: %v\n%s", result, i.Log)
	case <-time.After(Patience):
		t.Fatalf("not ready\n%s", i.Log)
	}
	return i
}

// SQL is the deployment's database, without the program.
func (d *Deployment) SQL(t testing.TB) *sql.DB {
	t.Helper()
	driver, source := "mysql", d.DSN
	if d.File != "" {
		driver, source = "sqlite", "file:"+d.File+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Open is the deployment's database as a command opens it.
func (d *Deployment) Open(t testing.TB) *sqlstore.DB {
	t.Helper()
	cfg, err := config.Load(config.Options{Environ: Environ(d.Vars)})
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

// Execute runs a statement that must succeed.
func Execute(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// Count is the number that a query answers with.
func Count(t testing.TB, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// With is vars with another value of one.
func With(vars map[string]string, name, value string) map[string]string {
	all := map[string]string{name: value}
	for k, v := range vars {
		if k != name {
			all[k] = v
		}
	}
	return all
}
