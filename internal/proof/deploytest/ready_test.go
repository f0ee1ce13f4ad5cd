package deploytest

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestReadyNeedsMoreThanAnAnswer: a database that answers, and lacks what is
// needed or takes no writes, is no database to send requests for.
func TestReadyNeedsMoreThanAnAnswer(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]*e2e.Deployment{"SQLite": e2e.OnSQLite(t), "MySQL": e2e.OnMySQLAlone(t), "MariaDB": e2e.OnServer(t, testenv.MariaDB(t), nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := e2e.NewClient(t, d.Start(t).Ops)
			c.Want(c.Do("GET", "/readyz", ""), 200, "")
			db := d.SQL(t)
			refused := func(want string) {
				t.Helper()
				got := c.Want(c.Do("GET", "/readyz", ""), 503, "not_ready")
				if !strings.Contains(string(got.Body), want) {
					t.Errorf("got %s, want the reason %q", got.Body, want)
				}
			}
			if d.File == "" {
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := conn.ExecContext(t.Context(), "LOCK TABLES users READ, settings READ"); err != nil {
					t.Fatal(err)
				}
				refused("a table may be locked")
				if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
					t.Fatal(err)
				}
				c.Want(c.Do("GET", "/readyz", ""), 200, "")
			}
			e2e.Execute(t, db, "UPDATE settings SET scope = 'away'")
			refused("the settings cannot be read")
			e2e.Execute(t, db, "UPDATE settings SET scope = 'global'")
			c.Want(c.Do("GET", "/readyz", ""), 200, "")
			// Steps that were undone beside it: what reads the settings lacks nothing.
			if r := e2e.Command(t, d.With(), "", "migrate", "down", "--steps=1", "--yes"); r.Code != 0 {
				t.Fatalf("migrate down: %s", r.Errs)
			}
			refused("migrate up")
			if r := e2e.Command(t, d.With(), "", "migrate", "up"); r.Code != 0 {
				t.Fatalf("migrate up: %s", r.Errs)
			}
			c.Want(c.Do("GET", "/readyz", ""), 200, "")
			e2e.Execute(t, db, "DROP TABLE settings")
			refused("from a backup") // no step makes it again
		})
	}
}
