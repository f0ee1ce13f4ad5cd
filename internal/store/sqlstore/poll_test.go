//go:build unix

package sqlstore_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/migrations"
)

// The server that says that it takes writes must be the one that the ends come
// from, and two connections of a pool may lead to two servers.
func TestPollReadsAllOnOneConnection(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var pools []gorm.ConnPool
		var texts []string
		w.beforeRows(t, func(db *gorm.DB) {
			pools, texts = append(pools, db.Statement.ConnPool), append(texts, db.Statement.SQL.String())
		})
		w.news(t, time.Time{})
		var settings, users bool
		for i, text := range texts {
			settings, users = settings || strings.Contains(text, "FROM settings"), users || strings.Contains(text, "FROM users")
			_, whole := pools[i].(*sql.Conn)
			_, part := pools[i].(*sql.Tx) // in SQLite, begun on that connection
			if !whole && (!part || w.Dialect() != migrations.SQLite) || whole && pools[i] != pools[len(pools)-1] {
				t.Errorf("%.60s … ran on %T, not on the connection of the poll", text, pools[i])
			}
		}
		if !settings || !users {
			t.Errorf("the poll reads %q; want the settings and the users", texts)
		}
	})
}

// A poll that waited for a writer of another process would be late with the ends.
func TestPollOfSQLiteWaitsForNobody(t *testing.T) {
	w := newWorld(t, kinds[0].options(t))
	timeout := func(pool gorm.ConnPool) (ms int) {
		must(t, pool.QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&ms))
		return ms
	}
	var during []int
	w.beforeRows(t, func(db *gorm.DB) {
		if _, ok := db.Statement.ConnPool.(*sql.Tx); ok {
			during = append(during, timeout(db.Statement.ConnPool))
		}
	})
	if news := w.news(t, time.Time{}); !news.Steady || len(during) != 1 || during[0] != 0 {
		t.Errorf("a poll is steady: %v, and waits for %v ms", news.Steady, during)
	}
	other := open(t, w.options)
	holds, err := other.SQL().BeginTx(t.Context(), nil)
	must(t, err)
	if news := w.news(t, time.Time{}); news.Steady {
		t.Error("steady beside a writer of another process")
	}
	must(t, holds.Rollback())
	w.SQL().SetMaxOpenConns(1)
	if ms := timeout(w.SQL()); ms == 0 {
		t.Error("after a poll its connection waits for no writer any more")
	}
}

// beforeRows calls f before each statement that reads.
func (w *world) beforeRows(t *testing.T, f func(*gorm.DB)) {
	t.Helper()
	must(t, w.Gorm().Callback().Row().Before("gorm:row").Register("before rows", f))
}
