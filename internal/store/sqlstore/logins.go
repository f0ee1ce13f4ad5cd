package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Logins are [Sessions] for lists: no answer is older than an end that was acknowledged
// before, also while one server takes the place of another.
type Logins struct{ *Sessions }

// Get reads a session, as that of Sessions does.
func (l Logins) Get(ctx context.Context, id idworker.ID) (got session.Session, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	got, _, err = l.loginOf(ctx, id, func(read func(conn *gorm.DB) error) error { return l.DB.latest(ctx, read) })
	return got, err
}

// Newest is a page of the logins that rows hold, newest first: at most limit,
// with IDs above above and below below, and none that the global floor has
// ended. Whether they are over by the times of the policy is not asked. While a lower limit
// is carried out, those of a user on the page that are too many end, each user in a
// transaction with a limit of its own: of a page with many users a caller that leaves gets an error,
// and finds fewer to end the next time.
func (l Logins) Newest(ctx context.Context, above, below idworker.ID, limit int) ([]session.Session, error) {
	asOf := l.now()
	rows, err := l.newest(ctx, above, below, limit)
	if err == nil {
		var ended int
		if ended, err = l.reduceOf(ctx, rows); err == nil && ended > 0 {
			rows, err = l.newest(ctx, above, below, limit)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sqlstore: list logins: %w", err)
	}
	logins := make([]session.Session, len(rows))
	for i := range rows {
		logins[i] = rows[i].current(asOf)
	}
	newestFirst(logins)
	return logins[:min(limit, len(logins))], nil
}

func (l Logins) newest(ctx context.Context, above, below idworker.ID, limit int) (rows []tokenRow, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err = l.DB.latest(ctx, func(conn *gorm.DB) error {
		rows = nil
		floor, err := l.DB.floor(conn, "")
		if err != nil {
			return err
		}
		const page = " WHERE token_id > ? AND token_id < ? ORDER BY token_id DESC LIMIT ?"
		from, tables := max(int64(above), floor), l.DB.tables()
		if len(tables) > 1 { // an index has the IDs, so the rows of one page are read, and not of two
			var ids []int64
			err := conn.Raw("SELECT token_id FROM (SELECT token_id FROM users"+page+") within UNION ALL SELECT token_id FROM (SELECT token_id FROM user_slots"+page+") within",
				from, int64(below), limit, from, int64(below), limit).Scan(&ids).Error
			if err != nil {
				return err
			}
			if slices.Sort(ids); len(ids) > limit {
				from = ids[len(ids)-limit] - 1
			}
		}
		for _, table := range tables {
			q := "SELECT " + tokenColumns + " FROM users" + page
			if table == slotsTable { // one look at each user, and not one for each column
				q = "SELECT of_slots.*, username, role, password_version, disabled_at FROM (SELECT " + ownColumns + " FROM user_slots" + page +
					") of_slots JOIN users ON users.id = of_slots.user_id"
			}
			var of []tokenRow
			if err := conn.Raw(q, from, int64(below), limit).Scan(&of).Error; err != nil {
				return err
			}
			rows = append(rows, of...)
		}
		return nil
	})
	return rows, err
}

// reduceOf reduces the sessions of those users of whom a page has rows, while a lower limit
// is carried out. It returns how many ended.
func (l Logins) reduceOf(ctx context.Context, page []tokenRow) (ended int, err error) {
	if !l.DB.further.Load() || len(page) == 0 {
		return 0, nil
	}
	rule, pending, err := l.DB.limits(ctx)
	if err != nil || !pending {
		return 0, err
	}
	users := make([]int64, len(page))
	for i := range page {
		users[i] = page[i].UserID
	}
	return l.reduceThose(ctx, &rule, "user_id IN ("+list(users)+")")
}
