package scale

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// settle waits until the server is done with the store's statements: it counts
// one only after its answer is on the way.
func (d *deployment) settle(t testing.TB) {
	t.Helper()
	testenv.Eventually(t, time.Minute, func() bool {
		var busy int
		must(t, d.root.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM performance_schema.threads p "+
			"JOIN performance_schema.events_statements_current s USING (thread_id) "+
			"WHERE p.processlist_user = ? AND (s.end_event_id IS NULL OR p.processlist_command <> 'Sleep')", d.user).Scan(&busy))
		return busy == 0
	}, "the server is done with what the store asked")
}

// asked is how many statements the store has sent so far, and how many rows the
// server looked at for them, by the server's own count. What sets up a
// connection does not count.
func (d *deployment) asked(t testing.TB) (statements, rows int) {
	t.Helper()
	d.settle(t)
	return d.counted(t)
}

// counted is what [deployment.asked] says, while questions are under way.
func (d *deployment) counted(t testing.TB) (statements, rows int) {
	t.Helper()
	must(t, d.root.QueryRowContext(t.Context(), "SELECT COALESCE(SUM(count_star), 0), COALESCE(SUM(sum_rows_examined), 0) "+
		"FROM performance_schema.events_statements_summary_by_user_by_event_name "+
		"WHERE user = ? AND event_name LIKE 'statement/sql/%' AND event_name <> 'statement/sql/set_option'", d.user).Scan(&statements, &rows))
	return statements, rows
}

// plan is how the server goes about the last statement of the store that begins
// with that: the kind of access and the index. args are the values of a prepared one.
func (d *deployment) plan(t testing.TB, beginning string, args ...any) (access, index string) {
	t.Helper()
	d.settle(t)
	var text string
	err := d.root.QueryRowContext(t.Context(), "SELECT h.sql_text FROM performance_schema.events_statements_history h "+
		"JOIN performance_schema.threads p USING (thread_id) WHERE p.processlist_user = ? AND h.sql_text LIKE ? "+
		"ORDER BY h.timer_start DESC LIMIT 1", d.user, beginning+"%").Scan(&text)
	if err != nil {
		t.Fatalf("%s: %v", beginning, err)
	}
	rows, err := d.root.QueryContext(t.Context(), "EXPLAIN FORMAT=TRADITIONAL "+text, args...)
	must(t, err)
	defer func() { must(t, rows.Close()) }()
	names, err := rows.Columns()
	must(t, err)
	if !rows.Next() {
		t.Fatalf("%s: no plan: %v", beginning, rows.Err())
	}
	cells, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range cells {
		into[i] = &cells[i]
	}
	for more := true; more; more = rows.Next() {
		must(t, rows.Scan(into...))
		if slices.ContainsFunc(cells, func(c sql.NullString) bool { return c.String == "polls" }) {
			continue // each "now" looks at it; it has a row for each instance
		}
		for i, name := range names { // of the last table
			switch name {
			case "type":
				access = cells[i].String
			case "key":
				index = cells[i].String
			}
		}
	}
	return access, index
}

// mustGoBy fails unless the last statement that begins with that went straight
// to its rows, by that index.
func (d *deployment) mustGoBy(t testing.TB, beginning, access, index string, args ...any) {
	t.Helper()
	if d.further > 0 {
		return // the last table is another
	}
	if a, i := d.plan(t, beginning, args...); a != access || i != index {
		t.Errorf("%s...: goes by %s of index %q, want %s of %s", beginning, a, i, access, index)
	}
}
