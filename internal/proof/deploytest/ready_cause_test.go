package deploytest

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestReadyAndTheLogSayThatTheServerIsReadOnly: to a user who may write nothing then, and of a user with SUPER /readyz does.
// A primary that was replaced got the advice to migrate its schema, and the log said "driver: bad connection".
func TestReadyAndTheLogSayThatTheServerIsReadOnly(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *testenv.MySQLServer{"MySQL": testenv.OwnMySQL, "MariaDB": testenv.OwnMariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			e2e.Execute(t, server.DB(), "CREATE USER app@'%' IDENTIFIED BY 'word'")
			e2e.Execute(t, server.DB(), "GRANT ALL ON "+server.Name+".* TO app@'%'")
			config := mysql.NewConfig()
			config.User, config.Passwd, config.Net, config.Addr, config.DBName = "app", "word", "tcp", server.Addr, server.Name
			d := e2e.OnServer(t, config.FormatDSN(), nil)
			variables := []string{"read_only", "super_read_only"}
			if name == "MariaDB" {
				variables = variables[:1]
			}
			for _, variable := range variables {
				t.Run(variable, func(t *testing.T) { saysReadOnly(t, d, server, variable) })
			}
			t.Run("locked", func(t *testing.T) { saysRefused(t, d, server) })
		})
	}
}

func saysReadOnly(t *testing.T, d *e2e.Deployment, server *testenv.MySQLServer, variable string) {
	t.Helper()
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = "root", "tcp", server.Addr, server.Name
	above := e2e.OnServer(t, config.FormatDSN(), nil).StartLoud(t)
	i := d.StartLoud(t)
	c, password := e2e.NewClient(t, i.Public), e2e.NewPassword()
	name := "ada-" + strings.ReplaceAll(variable, "_", "-")
	c.Want(c.Register(name, password), 201, "")
	e2e.Execute(t, server.DB(), "SET GLOBAL "+variable+" = ON")
	for _, ops := range []string{i.Ops, above.Ops} {
		refusedFor(t, ops, "the database takes no writes")
	}
	if r := e2e.Command(t, d.With("FLAKEPASS_OPS_LISTEN", i.Ops), "", "ready"); r.Code == 0 || !strings.Contains(r.Errs, "the database takes no writes") || strings.Contains(r.Errs, "migrate up") {
		t.Errorf("ready: exit code %d\n%s", r.Code, r.Errs)
	}
	c.Want(c.TryLogin(name, password), 503, "unavailable")
	c.Want(c.Register(name+"2", password), 503, "unavailable")
	for _, what := range []string{"request not answered", "range of ID time not extended", "ends of logins not heard of"} {
		testenv.Eventually(t, e2e.Patience, func() bool { return said(i.Log.String(), what, "read_only is on") }, "the log says why: "+what)
	}
	if text := i.Log.String(); strings.Contains(text, "bad connection") {
		t.Errorf("the log has a reason that is none\n%s", text)
	}
	e2e.Execute(t, server.DB(), "SET GLOBAL read_only = OFF") // and the other one with it
	for _, one := range []string{i.Ops, above.Ops} {
		becomesReady(t, one)
	}
	testenv.Eventually(t, e2e.Patience, func() bool { return c.TryLogin(name, password).Status == 200 }, "people log in again")
}

// said reports whether a line of the log has both texts.
func said(log, what, why string) bool {
	for line := range strings.Lines(log) {
		if strings.Contains(line, what) && strings.Contains(line, why) {
			return true
		}
	}
	return false
}

// refusedFor waits until /readyz gives that reason, and fails if it gives the advice for a schema.
// saysRefused: a server that answers that the account is locked is not one that does not answer.
func saysRefused(t *testing.T, d *e2e.Deployment, server *testenv.MySQLServer) {
	t.Helper()
	i := d.StartLoud(t)
	e2e.Execute(t, server.DB(), "ALTER USER app@'%' ACCOUNT LOCK")
	rows, err := server.DB().QueryContext(t.Context(), "SELECT id FROM information_schema.processlist WHERE user = 'app'")
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		_, _ = server.DB().ExecContext(t.Context(), fmt.Sprintf("KILL %d", id)) // it may have ended by itself
	}
	refusedFor(t, i.Ops, "the database refuses this instance")
	e2e.Execute(t, server.DB(), "ALTER USER app@'%' ACCOUNT UNLOCK")
	becomesReady(t, i.Ops)
}

func refusedFor(t *testing.T, ops, want string) {
	t.Helper()
	c, last := e2e.NewClient(t, ops), ""
	testenv.Eventually(t, e2e.Patience, func() bool {
		got := c.Do("GET", "/readyz", "")
		last = string(got.Body)
		if strings.Contains(last, "migrate up") {
			t.Errorf("want the reason %q, and got %s", want, last)
			return true
		}
		return got.Status == 503 && strings.Contains(last, want)
	}, "not ready: "+want)
}

func becomesReady(t *testing.T, ops string) {
	t.Helper()
	c := e2e.NewClient(t, ops)
	testenv.Eventually(t, e2e.Patience, func() bool { return c.Do("GET", "/readyz", "").Status == 200 }, "ready again")
}

// TestReadySaysThatATableIsLocked: a table that is locked, for a backup or by hand, lacks nothing.
func TestReadySaysThatATableIsLocked(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{"MySQL": testenv.MySQL(t), "MariaDB": testenv.MariaDB(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := e2e.OnServer(t, dsn, nil)
			i, db := d.StartLoud(t), d.SQL(t)
			for _, lock := range []string{"settings WRITE", "policies WRITE", "polls WRITE", "users WRITE", "users READ"} {
				locked(t, db, "LOCK TABLES "+lock, func() { refusedFor(t, i.Ops, "a table may be locked") })
				becomesReady(t, i.Ops)
			}
		})
	}
}

// locked calls f while a connection has that lock.
func locked(t *testing.T, db *sql.DB, lock string, f func()) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() // the lock goes with it
	if _, err := conn.ExecContext(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
	f()
	if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
}
