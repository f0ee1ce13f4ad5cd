//go:build unix

package sqlworkertest

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "modernc.org/sqlite"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/idworkertest"
	"github.com/flakepass/flakepass/idworker/sqlworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

const ddl = `CREATE TABLE worker_nodes (
	number      INT          NOT NULL PRIMARY KEY,
	owner_token VARCHAR(64)  NOT NULL,
	holder      VARCHAR(255) NOT NULL,
	fence_ms    BIGINT       NOT NULL,
	seen_at     BIGINT       NOT NULL
)`

// databases are the kinds that the Lender works on. Each is an empty database
// with the table.
var databases = []struct {
	name    string
	dialect sqlworker.Dialect
	open    func(t *testing.T) *sql.DB
}{
	{"SQLite", sqlworker.SQLite, sqlite},
	{"MySQL", sqlworker.MySQL, func(t *testing.T) *sql.DB { return connect(t, "mysql", testenv.MySQL(t)) }},
	{"MySQL counting rows found", sqlworker.MySQL, func(t *testing.T) *sql.DB {
		return connect(t, "mysql", testenv.MySQL(t)+"?clientFoundRows=true")
	}},
	{"MariaDB", sqlworker.MySQL, func(t *testing.T) *sql.DB { return connect(t, "mysql", testenv.MariaDB(t)) }},
}

func TestLenderKeepsThePromise(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			idworkertest.TestLender(t, func(t *testing.T) func() idworker.Lender {
				db := d.open(t)
				return func() idworker.Lender {
					return &sqlworker.Lender{DB: db, Dialect: d.dialect, Holder: "host:1"}
				}
			})
		})
	}
}

// TestSharedNumberKeepsThePromise is one number configured everywhere.
func TestSharedNumberKeepsThePromise(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			idworkertest.TestLender(t, func(t *testing.T) func() idworker.Lender {
				db, seven := d.open(t), 7
				return func() idworker.Lender {
					return &sqlworker.Lender{DB: db, Dialect: d.dialect, Only: &seven}
				}
			})
		})
	}
}

func TestOnlyTakesTheNumberFromItsOwner(t *testing.T) {
	seven := 7
	l := &sqlworker.Lender{DB: sqlite(t), Dialect: sqlworker.SQLite, Only: &seven}
	first, second := acquire(t, l), acquire(t, l)
	if first.Number != 7 || second.Number != 7 || second.From.Before(first.Until) {
		t.Errorf("got %+v and then %+v", first, second)
	}
	if _, err := l.Extend(t.Context(), first, first.Until.Add(time.Second)); !errors.Is(err, idworker.ErrLost) {
		t.Errorf("the first owner's extension: %v, want ErrLost", err)
	}
}

func TestOrderOfPreference(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			db := d.open(t)
			const past, ahead = 1000, 9999999999999
			for _, row := range [][]any{
				{0, "alive", ahead, ahead}, // never lent
				{1, "silent", past, past},
				{2, "", past, past},
				{4, "", ahead, past},
				{5, "silent", ahead - 1, past},
			} {
				if _, err := db.ExecContext(t.Context(), `INSERT INTO worker_nodes
					(number, owner_token, holder, fence_ms, seen_at) VALUES (?, ?, '', ?, ?)`, row...); err != nil {
					t.Fatal(err)
				}
			}
			l := &sqlworker.Lender{DB: db, Dialect: d.dialect, Numbers: 6}
			for _, want := range []int{2, 1, 3, 5, 4} {
				if g := acquire(t, l); g.Number != want {
					t.Errorf("got number %d, want %d", g.Number, want)
				}
			}
			if g, err := l.Acquire(t.Context(), time.Second); !errors.Is(err, idworker.ErrNoNumber) {
				t.Errorf("with every owner alive: %+v, %v, want ErrNoNumber", g, err)
			}
		})
	}
}

func TestHolderIsShownAndCut(t *testing.T) {
	db := sqlite(t)
	acquire(t, &sqlworker.Lender{DB: db, Dialect: sqlworker.SQLite, Holder: strings.Repeat("ü", 300)})
	var holder string
	if err := db.QueryRowContext(t.Context(), "SELECT holder FROM worker_nodes").Scan(&holder); err != nil {
		t.Fatal(err)
	}
	if holder != strings.Repeat("ü", 255) {
		t.Errorf("holder is %q", holder)
	}
}

func TestForgottenDialectIsAnError(t *testing.T) {
	l := &sqlworker.Lender{DB: sqlite(t)}
	if g, err := l.Acquire(t.Context(), time.Second); err == nil {
		t.Errorf("lent %+v", g)
	}
}

func sqlite(t *testing.T) *sql.DB {
	return connect(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "db")+
		"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
}

func connect(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), ddl); err != nil {
		t.Fatal(err)
	}
	return db
}

func acquire(t *testing.T, l *sqlworker.Lender) idworker.Grant {
	t.Helper()
	g, err := l.Acquire(t.Context(), 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
