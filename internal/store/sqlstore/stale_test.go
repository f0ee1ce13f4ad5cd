//go:build unix

package sqlstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// TestLookForARarePartIsBounded: it reads as many entries of an index as it may look at, and
// the next one goes on behind them, however few of them are over.
func TestLookForARarePartIsBounded(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		logins := w.crowd(t, 3000)
		tables := []string{"users"}
		if w.number(t, "SELECT slots FROM settings") > 0 {
			tables = append(tables, "user_slots")
			w.exec(t, "INSERT INTO user_slots (id, user_id, slot, token_id, token_hash, token_seen_at) "+
				"SELECT id + 1, id, 1, token_id + 1, token_hash, token_seen_at FROM users WHERE token_id IS NOT NULL")
		}
		rare := logins[len(logins)-7]
		w.exec(t, "UPDATE users SET role = 'admin', device_token_id = token_id, device_class = 'tv' WHERE id = ?", int64(rare))
		w.SQL().SetMaxOpenConns(1) // the server counts by connection
		s := &sqlstore.Sweeps{DB: w.DB}
		_, _, err := s.Head(t.Context())
		must(t, err)
		const limit = 50
		for _, scope := range []policy.Scope{{Class: "tv"}, {Role: "admin"}} {
			for _, m := range []sweep.Marks{sweep.MarksOf(start.Add(time.Hour), longAgo, 0), sweep.MarksOf(longAgo, start.Add(time.Hour), 0)} {
				m.Part = &policy.Part{Scope: scope}
				at := sweep.Cursor{Stage: sweep.Expired}
				if m.Issued < rare {
					at.Stage = sweep.Idle
				}
				found, calls := 0, 0
				for stage := at.Stage; at.Stage == stage; calls++ {
					before := w.entriesRead(t)
					stale, to, err := s.Stale(t.Context(), m, at, limit)
					must(t, err)
					if read := w.entriesRead(t) - before; read > 3*limit*int64(len(tables)) {
						t.Fatalf("%v: a look at %d logins reads %d entries", scope, limit, read)
					}
					for _, l := range stale {
						if l.Token != rare && l.Token != rare+1 {
							t.Errorf("%v: %+v is over", scope, l)
						}
					}
					if to == at {
						t.Fatalf("%v: a look from %+v to %+v", scope, at, to)
					}
					found, at = found+len(stale), to
				}
				// The other login of that user has the role, and not the class.
				want := 1
				if scope.Role != "" {
					want = len(tables)
				}
				if all := len(logins) * len(tables); found != want || calls != all/limit+1 {
					t.Errorf("%v: found %d in %d looks at %d logins", scope, found, calls, all)
				}
			}
		}
	})
}

// entriesRead is how many entries of indexes the server has read in order for this connection.
func (w *world) entriesRead(t *testing.T) (n int64) {
	t.Helper()
	if w.Dialect() == migrations.SQLite {
		return 0 // which does not count
	}
	var name string
	must(t, w.SQL().QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Handler_read_next'").Scan(&name, &n))
	if !strings.EqualFold(name, "Handler_read_next") {
		t.Fatal(name)
	}
	return n
}
