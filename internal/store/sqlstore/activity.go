package sqlstore

import (
	"context"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/migrations"
)

// Activity is what was counted by the hour.
type Activity struct{ DB *DB }

var _ activity.Store = (*Activity)(nil)

// Add adds the counts of an instance to those that are there, with one
// statement.
func (a *Activity) Add(ctx context.Context, instance string, counts []activity.Count) error {
	if len(counts) == 0 {
		return nil
	}
	var args []any
	for _, c := range counts {
		args = append(args, c.Hour.UnixMilli(), cut(instance, 64), string(c.Kind), c.N)
	}
	add := " ON CONFLICT (hour, instance, kind) DO UPDATE SET n = n + excluded.n"
	if a.DB.d.name == migrations.MySQL {
		add = " ON DUPLICATE KEY UPDATE n = n + VALUES(n)" // MariaDB knows no other way
	}
	query := "INSERT INTO activity (hour, instance, kind, n) VALUES (?, ?, ?, ?)" + strings.Repeat(", (?, ?, ?, ?)", len(counts)-1) + add
	return failed("activity", a.DB.exec(ctx, query, args...))
}

// Prune deletes hours that began before then. It looks first, without a lock:
// mostly there are none.
func (a *Activity) Prune(ctx context.Context, before time.Time) error {
	var hours []int64
	err := a.DB.query(ctx, &hours, "SELECT hour FROM activity WHERE hour < ? LIMIT 1", before.UnixMilli())
	if err == nil && len(hours) > 0 {
		err = a.DB.exec(ctx, "DELETE FROM activity WHERE hour < ?", before.UnixMilli())
	}
	return failed("activity", err)
}

// Since is what was counted in the hours that began then or later, on all
// instances together.
func (a *Activity) Since(ctx context.Context, since time.Time) ([]activity.Count, error) {
	var rows []struct {
		Hour int64
		Kind string
		N    int64
	}
	err := a.DB.query(ctx, &rows, "SELECT hour, kind, SUM(n) AS n FROM activity WHERE hour >= ? GROUP BY hour, kind ORDER BY hour, kind",
		since.UnixMilli())
	counts := make([]activity.Count, len(rows))
	for i, r := range rows {
		counts[i] = activity.Count{Hour: fromMillis(r.Hour), Kind: activity.Kind(r.Kind), N: r.N}
	}
	return counts, failed("activity", err)
}
