package main

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestReadyNeedsMoreThanAnAnswer: a database that answers, and lacks what is
// needed or takes no writes, is no database to send requests for.
func TestReadyNeedsMoreThanAnAnswer(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]*deployment{"SQLite": onSQLite(t), "MySQL": onMySQLAlone(t), "MariaDB": onServer(t, testenv.MariaDB(t), nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, d.start(t).ops)
			c.want(c.do("GET", "/readyz", ""), 200, "")
			db := d.sql(t)
			refused := func(want string) {
				t.Helper()
				got := c.want(c.do("GET", "/readyz", ""), 503, "not_ready")
				if !strings.Contains(string(got.body), want) {
					t.Errorf("got %s, want the reason %q", got.body, want)
				}
			}
			if d.file == "" {
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := conn.ExecContext(t.Context(), "LOCK TABLES users READ, settings READ"); err != nil {
					t.Fatal(err)
				}
				refused("takes no writes")
				if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
					t.Fatal(err)
				}
				c.want(c.do("GET", "/readyz", ""), 200, "")
			}
			execute(t, db, "UPDATE settings SET scope = 'away'")
			refused("the settings cannot be read")
			execute(t, db, "UPDATE settings SET scope = 'global'")
			c.want(c.do("GET", "/readyz", ""), 200, "")
			execute(t, db, "DROP TABLE settings")
			refused("migrate up")
		})
	}
}
