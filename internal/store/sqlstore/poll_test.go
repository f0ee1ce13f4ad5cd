//go:build unix

package sqlstore_test

import (
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
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

// TestServerThatIsNotThatOfTheLastPollGivesNoAnswer: it stood still while another one took its
// place, and answers with what it had. A poll that succeeds on the other one is no proof of
// what this one says.
func TestServerThatIsNotThatOfTheLastPollGivesNoAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		if w.Dialect() == migrations.SQLite {
			return
		}
		s := w.begin(t, w.user(t, "ada"))
		here := &sqlstore.Sessions{DB: w.DB, Instance: "here"}
		lists := sqlstore.Logins{Sessions: here}
		questions := map[string]func() error{
			"a login": func() error { _, err := here.Get(t.Context(), s.ID, session.Hash{}); return err },
			"an unknown login": func() error {
				_, err := here.Get(t.Context(), s.ID+1, session.Hash{})
				return ignore(err, session.ErrNotFound)
			},
			"a user": func() error { _, err := w.users.ByID(t.Context(), s.UserID); return err },
			"a list": func() error { _, err := lists.Newest(t.Context(), 0, math.MaxInt64, 9); return err },
		}
		poll := func() {
			_, err := here.News(t.Context(), time.Time{}, keep)
			must(t, err)
		}
		poll()
		for what, ask := range questions {
			must(t, ask())
			w.SetDecides("another")
			if err := ask(); err == nil || errors.Is(err, session.ErrNotFound) {
				t.Errorf("%s: %v; want an error, for no poll was on this server", what, err)
			}
			poll()
			must(t, ask())
		}
	})
}

func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
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
