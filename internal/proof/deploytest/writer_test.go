package deploytest

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
	"github.com/flakepass/flakepass/internal/proof/testenv/migrated"
)

// behind is a deployment that reaches an empty database through a proxy.
func behind(t *testing.T) (*e2e.Deployment, *faultproxy.Proxy) {
	t.Helper()
	config, err := mysql.ParseDSN(testenv.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := faultproxy.New(t, config.Addr)
	config.Addr = proxy.Addr
	return e2e.OnServer(t, config.FormatDSN(), nil), proxy
}

// waiting starts the program, and returns when it says that it waits, and why.
func waiting(t *testing.T, d *e2e.Deployment, why string) *e2e.Process {
	t.Helper()
	p := e2e.LaunchProgram(t, e2e.Binary(t), t.TempDir(), d.With("FLAKEPASS_DATABASE_WAIT", "10m"))
	testenv.Eventually(t, e2e.Patience, func() bool {
		log := p.Log.String()
		return strings.Contains(log, "waiting for a database that takes writes") && strings.Contains(log, why)
	}, "the program waits")
	return p
}

// TestServeStartsBeforeItsDatabase: refused, or answered by nobody, it becomes ready by
// itself when the database is there.
func TestServeStartsBeforeItsDatabase(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*faultproxy.Proxy){
		"refused":   (*faultproxy.Proxy).Refuse,
		"no answer": func(p *faultproxy.Proxy) { p.Cut(faultproxy.Both) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, proxy := behind(t)
			fault(proxy)
			p := waiting(t, d, "at_most=10m0s")
			proxy.Heal()
			p.Ready(t)
		})
	}
}

// TestServeWaitsForAWriter: a server that only reads is no database to start on.
func TestServeWaitsForAWriter(t *testing.T) {
	t.Parallel()
	m := testenv.OwnMySQL(t)
	e2e.Execute(t, m.DB(), "SET GLOBAL super_read_only = ON")
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = "root", "tcp", m.Addr, m.Name
	p := waiting(t, e2e.OnServer(t, config.FormatDSN(), nil), "read_only is on")
	e2e.Execute(t, m.DB(), "SET GLOBAL super_read_only = OFF")
	e2e.Execute(t, m.DB(), "SET GLOBAL read_only = OFF")
	p.Ready(t)
}

// TestServeWaitsForASlowDatabase: what a start asks after it is connected may take too long, too. A
// start of a deployment whose database was slow for some seconds has ended with "context
// deadline exceeded".
func TestServeWaitsForASlowDatabase(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"users", "policies", "worker_nodes"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			d := e2e.OnServer(t, migrated.MySQL(t), nil)
			db := d.SQL(t)
			db.SetMaxOpenConns(1) // a lock of tables belongs to its connection
			e2e.Execute(t, db, "LOCK TABLES "+table+" WRITE")
			p := waiting(t, d, "at_most=10m0s")
			e2e.Execute(t, db, "UNLOCK TABLES")
			p.Ready(t)
		})
	}
}

// TestAWaitingServerCanBeStopped: in good order.
func TestAWaitingServerCanBeStopped(t *testing.T) {
	t.Parallel()
	d, proxy := behind(t)
	proxy.Refuse()
	p := waiting(t, d, "")
	p.Signal(t, syscall.SIGINT)
	if code := p.End(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
}

// TestNobodyWaitsInVain: what waiting cannot mend ends the program at once, and so does
// everything if the limit says so, or for a command.
func TestNobodyWaitsInVain(t *testing.T) {
	t.Parallel()
	d, proxy := behind(t)
	address := d.Vars["FLAKEPASS_DATABASE"]
	proxy.Refuse()
	for _, c := range []struct {
		name, database, wait, command, says string
		heal                                bool
	}{
		{name: "no wait", database: address, wait: "0s", command: "serve", says: "is the server running"},
		{name: "a short wait", database: address, wait: "1s", command: "serve", says: "waited for 1s (FLAKEPASS_DATABASE_WAIT)"},
		{name: "a command", database: address, wait: "10m", command: "migrate up", says: "is the server running"},
		{name: "a wrong password", database: strings.Replace(address, "root:", "root:wrong", 1), wait: "10m", command: "serve", says: "correct the user or the password", heal: true},
		{name: "an unknown database", database: address + "x", wait: "10m", command: "serve", says: "CREATE DATABASE", heal: true},
	} {
		if c.heal {
			proxy.Heal()
		}
		vars := d.With("FLAKEPASS_DATABASE", c.database, "FLAKEPASS_DATABASE_WAIT", c.wait)
		r := e2e.Command(t, vars, "", strings.Fields(c.command)...)
		if r.Code != 1 || !strings.Contains(r.Errs, c.says) {
			t.Errorf("%s: exit code %d\n%s", c.name, r.Code, r.Errs)
		}
		if waits := strings.Contains(r.Errs, "waiting for a database"); waits != (c.wait == "1s") {
			t.Errorf("%s: it waited: %v\n%s", c.name, waits, r.Errs)
		}
	}
}

// TestAUserWhomTheDatabaseRefuses: the error of a start says what to do about each.
func TestAUserWhomTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	dsn := testenv.MySQL(t) // without tables
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	d := e2e.OnServer(t, dsn, nil)
	root := d.SQL(t)
	for how, says := range map[string]string{
		"PASSWORD EXPIRE": "ALTER USER", "ACCOUNT LOCK": "ACCOUNT UNLOCK", "ACCOUNT UNLOCK": "migrate up",
	} {
		name := says[:3] + strconv.Itoa(len(how)) + config.DBName[max(0, len(config.DBName)-16):]
		e2e.Execute(t, root, "CREATE USER `"+name+"` IDENTIFIED BY 'a password for the test' "+how)
		t.Cleanup(func() { _, _ = root.ExecContext(context.WithoutCancel(t.Context()), "DROP USER `"+name+"`") })
		e2e.Execute(t, root, "GRANT SELECT, INSERT, UPDATE, DELETE ON `"+config.DBName+"`.* TO `"+name+"`")
		database := url.URL{Scheme: "mysql", User: url.UserPassword(name, "a password for the test"), Host: config.Addr, Path: "/" + config.DBName}
		for _, command := range []string{"serve", "migrate up"} {
			r := e2e.Command(t, d.With("FLAKEPASS_DATABASE", database.String()), "", strings.Fields(command)...)
			if r.Code != 1 || strings.Count(r.Errs, says) != 1 {
				t.Errorf("%s, %s: exit code %d; want advice about %q once\n%s", command, how, r.Code, says, r.Errs)
			}
		}
	}
}
