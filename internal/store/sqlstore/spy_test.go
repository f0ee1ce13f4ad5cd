//go:build unix

package sqlstore_test

import (
	"database/sql"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/migrations"
)

// A statement is one that the package sent.
type statement struct {
	text string
	args []any
	rows int64 // that it wrote, or 0 if it read
	in   any   // the transaction, or what else it went through
}

// A spy notes the statements that go through GORM.
type spy struct {
	mu   sync.Mutex
	sent []statement
}

func (w *world) spy(t testing.TB) *spy {
	t.Helper()
	s := &spy{}
	note := func(db *gorm.DB) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = append(s.sent, statement{db.Statement.SQL.String(), slices.Clone(db.Statement.Vars), db.Statement.RowsAffected, db.Statement.ConnPool})
	}
	all := w.Gorm().Callback()
	for _, err := range []error{
		all.Raw().After("gorm:raw").Register("spy:raw", note),
		all.Row().After("gorm:row").Register("spy:row", note),
		all.Query().After("gorm:query").Register("spy:query", note),
		all.Create().After("gorm:create").Register("spy:create", note),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// take returns what was sent since the last time.
func (s *spy) take() []statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

// written counts the rows that statements with that beginning wrote.
func (s *spy) written(prefix string) (n int64) {
	for _, st := range s.take() {
		if strings.HasPrefix(st.text, prefix) {
			n += st.rows
		}
	}
	return n
}

// searches checks that the database goes straight to the rows of a statement,
// by an index, and returns the names of the indexes. The rows of a subquery, which
// were found so, may be counted, o may be one constant row, and polls has one for each
// instance.
func (w *world) searches(t testing.TB, s statement) (indexes []string) {
	t.Helper()
	if strings.HasPrefix(s.text, "INSERT") {
		return nil // it looks for nothing, and MySQL calls that a scan
	}
	explain := "EXPLAIN FORMAT=TRADITIONAL "
	if w.Dialect() == migrations.SQLite {
		explain = "EXPLAIN QUERY PLAN "
	}
	rows, err := w.SQL().QueryContext(t.Context(), explain+s.text, s.args...)
	if err != nil {
		t.Fatalf("%s: %v", s.text, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		step := scan(t, rows)
		if w.Dialect() == migrations.SQLite {
			if strings.Contains(step["detail"], "SCAN") && !slices.Contains([]string{"SCAN within", "SCAN o", "SCAN of_slots", "SCAN CONSTANT ROW"}, step["detail"]) || strings.Contains(step["detail"], "ORDER BY") {
				t.Errorf("%.200s\nscans or sorts: %v", s.text, step)
			}
			indexes = append(indexes, step["detail"])
			continue
		}
		scans := (step["type"] == "ALL" || step["type"] == "index") && !strings.HasPrefix(step["table"], "<derived") && step["table"] != "polls"
		if scans || strings.Contains(step["Extra"], "filesort") {
			t.Errorf("%.200s\nscans or sorts: %v", s.text, step)
		}
		indexes = append(indexes, step["key"])
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return indexes
}

func scan(t testing.TB, rows *sql.Rows) map[string]string {
	t.Helper()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	cells, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range cells {
		into[i] = &cells[i]
	}
	if err := rows.Scan(into...); err != nil {
		t.Fatal(err)
	}
	step := map[string]string{}
	for i, name := range names {
		step[name] = cells[i].String
	}
	return step
}

// crowd adds n users. Every third has never logged in, every third has logged
// out, and every third has a login, which it returns; the logins were issued
// and last seen one millisecond after another.
func (w *world) crowd(t testing.TB, n int) (logins []idworker.ID) {
	t.Helper()
	first := idworker.Default().Smallest(start)
	hash := hashOf(first)
	w.exec(t, `INSERT INTO users (id, username, password_hash, role, created_at, updated_at, token_id, token_hash, token_seen_at,
		ended_token_id, ended_token_hash, ended_reason, token_floor) VALUES
		(?, 'first', '$', 'user', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0),
		(?, 'second', '$', 'user', 0, 0, NULL, NULL, NULL, ?, ?, 'logged_out', ?),
		(?, 'third', '$', 'user', 0, 0, ?, ?, ?, NULL, NULL, NULL, 0)`,
		first, first+idworker.ID(1)<<22, first+idworker.ID(1)<<22, hash[:], first+idworker.ID(1)<<22, first+idworker.ID(2)<<22, first+idworker.ID(2)<<22, hash[:], start.UnixMilli()+2)
	for have := 3; have < n; have *= 2 {
		shift := have << 22
		w.exec(t, `INSERT INTO users (id, username, password_hash, role, created_at, updated_at, token_id, token_hash, token_seen_at,
			ended_token_id, ended_token_hash, ended_reason, token_floor)
			SELECT id + ?, CAST(id + ? AS CHAR), password_hash, role, 0, 0, token_id + ?, token_hash, token_seen_at + ?,
			ended_token_id + ?, ended_token_hash, ended_reason, token_floor + CASE token_floor WHEN 0 THEN 0 ELSE ? END
			FROM users WHERE id < ?`, shift, shift, shift, have, shift, shift, int(first)+min(have, n-have)<<22)
	}
	for i := 2; i < n; i += 3 {
		logins = append(logins, first+idworker.ID(i)<<22)
	}
	w.exec(t, map[migrations.Dialect]string{migrations.SQLite: "ANALYZE", migrations.MySQL: "ANALYZE TABLE users"}[w.Dialect()])
	return logins
}
