package sqlstore_test

import (
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// What the driver has to say of a replica is in the log, in its form, and not on
// standard error in the driver's own: there it is no JSON.
func TestReplicaThatHangsUpIsInTheLog(t *testing.T) {
	w := newWorld(t, sqlstore.Options{Dialect: migrations.SQLite, Source: filepath.Join(t.TempDir(), "x.db")})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	source, err := sqlstore.MySQLSource("mysql://u:p@" + l.Addr().String() + "/x")
	if err != nil {
		t.Fatal(err)
	}
	log := &testenv.Journal{}
	copies, err := sqlstore.OpenCopies(w.DB, []string{source}, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer copies.Close()
	if _, err := copies.Behind(t.Context()); err == nil || log.Count("mysql driver") == 0 {
		t.Errorf("%v, and the log has\n%s", err, log)
	}
}
