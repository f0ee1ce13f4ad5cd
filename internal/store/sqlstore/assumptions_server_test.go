//go:build unix

package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// Every connection to one server gets the same name for it, and learns whether
// the server is read-only, also as a user with no privilege but on its database.
func TestServerSaysItsNameAndWhetherItIsReadOnly(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		name, readOnly := serverOf(t, w.DB)
		if readOnly || (name == "") != (w.Dialect() == migrations.SQLite) {
			t.Errorf("%q, read-only %v", name, readOnly)
		}
		if again, readOnly := serverOf(t, open(t, w.ordinary(t))); again != name || readOnly {
			t.Errorf("an ordinary user: %q, read-only %v; want %q, false", again, readOnly, name)
		}
	})
}

// The servers are the test's own, for all others on them would be refused. Two have
// the same server_id, for nobody set one, and still different names.
func TestReadOnlyServerSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		own   func(testing.TB) *testenv.MySQLServer
		modes []string
	}{
		{"MySQL", testenv.OwnMySQL, []string{"read_only", "super_read_only"}},
		{"MariaDB", testenv.OwnMariaDB, []string{"read_only"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, other := c.own(t), c.own(t)
			w := newWorld(t, onServer(t, "root@tcp("+m.Addr+")/"+m.Name))
			user := open(t, w.ordinary(t))
			for _, mode := range c.modes {
				run(t, m.DB(), "SET GLOBAL "+mode+" = ON")
				if _, readOnly := serverOf(t, user); !readOnly {
					t.Errorf("%s is on, and the server is not read-only", mode)
				}
				run(t, m.DB(), "SET GLOBAL read_only = OFF")
				if _, readOnly := serverOf(t, user); readOnly {
					t.Errorf("%s is off, and the server is read-only", mode)
				}
			}
			name, _ := serverOf(t, user)
			if another, _ := serverOf(t, open(t, onServer(t, "root@tcp("+other.Addr+")/"+other.Name))); another == name {
				t.Errorf("two servers are both %q", name)
			}
		})
	}
}

// MySQL has a boolean, older MariaDBs too, and newer ones a word.
func TestReadOnlyIsReadFromABooleanAndFromAWord(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) { // a file has no such variable
		for value, want := range map[string]bool{
			"0": false, "FALSE": false, "'OFF'": false, "1": true, "TRUE": true, "'ON'": true, "'NO_LOCK'": true, "'NO_LOCK_NO_ADMIN'": true,
		} {
			expression := strings.Replace(w.ReadOnly(), "@@global.read_only", value, 1)
			var got bool
			if err := w.SQL().QueryRowContext(t.Context(), "SELECT "+expression).Scan(&got); err != nil || got != want || expression == w.ReadOnly() {
				t.Errorf("%s: %v, %v; want %v", expression, got, err, want)
			}
		}
	})
}

func serverOf(t *testing.T, db *sqlstore.DB) (name string, readOnly bool) {
	t.Helper()
	if err := db.SQL().QueryRowContext(t.Context(), "SELECT "+db.Server()+", "+db.ReadOnly()).Scan(&name, &readOnly); err != nil {
		t.Fatal(err)
	}
	return name, readOnly
}

// ordinary is the database for a user who may do everything in it, and nothing
// elsewhere.
func (w *world) ordinary(t *testing.T) sqlstore.Options {
	t.Helper()
	if w.Dialect() == migrations.SQLite {
		return w.options
	}
	c, err := mysql.ParseDSN(w.options.Source)
	must(t, err)
	c.User = c.DBName // which is not the name of any other test's
	must(t, w.Gorm().Exec("CREATE USER '"+c.User+"'@'127.0.0.1' IDENTIFIED BY ''").Error)
	t.Cleanup(func() { _ = w.Gorm().Exec("DROP USER '" + c.User + "'@'127.0.0.1'").Error })
	must(t, w.Gorm().Exec("GRANT ALL PRIVILEGES ON `"+c.DBName+"`.* TO '"+c.User+"'@'127.0.0.1'").Error)
	o := w.options
	o.Source = c.FormatDSN()
	return o
}
