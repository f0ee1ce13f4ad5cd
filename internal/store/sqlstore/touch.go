package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
)

// TouchAll writes times of last use, at most some hundred at once, and returns
// the time of last use of each row that took part: as it is afterwards, or zero if
// the session has ended or the policy has ended it. Those whose row another
// transaction holds are missing. A row moves only forward, and by at least gap.
//
// The rows are locked first, and judged after by the policy that is in force
// then: a use that comes after a refusal changes nothing, and a refusal that
// comes after a use finds it.
func (s *Sessions) TouchAll(ctx context.Context, seen map[idworker.ID]time.Time, gap time.Duration) (map[idworker.ID]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	var rows map[idworker.ID]time.Time
	err := s.DB.retry(ctx, func() error {
		return s.DB.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
			rows, err = s.touch(tx, seen, gap)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: touch: %w", s.DB.demoted(err))
	}
	return rows, nil
}

func (s *Sessions) touch(tx *gorm.DB, seen map[idworker.ID]time.Time, gap time.Duration) (map[idworker.ID]time.Time, error) {
	rows := make(map[idworker.ID]time.Time, len(seen))
	// By their keys: see settle.
	users, err := holders(tx, seen)
	if err != nil {
		return nil, err
	}
	for id := range seen {
		rows[id] = time.Time{}
	}
	if len(users) == 0 {
		return rows, nil
	}
	var held []tokenRow
	err = tx.Raw("SELECT " + tokenColumns + " FROM users WHERE id IN (" + list(slices.Sorted(maps.Keys(users))) + ") ORDER BY id" + s.DB.d.skipLocked).Scan(&held).Error
	if err != nil {
		return nil, err
	}
	now, err := scanRules(tx, s.DB.ruleQuery(""))
	if err != nil {
		return nil, err
	}
	var moved []use
	for i := range held {
		row := &held[i]
		row.GlobalFloor = now.GlobalFloor
		id := users[row.UserID]
		delete(users, row.UserID)
		if got := row.current(time.Time{}); got.ID == id && got.Alive() {
			if why, _ := now.judge(layout.Time(id), got.Seen); why != "" {
				continue
			}
			rows[id] = got.Seen
			if at := seen[id].UnixMilli(); at >= got.Seen.UnixMilli()+gap.Milliseconds() {
				rows[id] = fromMillis(at)
				moved = append(moved, use{row.UserID, at})
			}
		}
	}
	for _, id := range users {
		delete(rows, id) // another transaction holds the row
	}
	if len(moved) == 0 {
		return rows, nil
	}
	query, args := touchQuery(moved)
	return rows, tx.Exec(query, args...).Error
}

// A use is a time of last use of the login of a user.
type use struct{ user, at int64 }

// holders are the users whose rows hold those logins.
func holders(tx *gorm.DB, logins map[idworker.ID]time.Time) (map[int64]idworker.ID, error) {
	var rows []struct{ UserID, TokenID int64 }
	err := tx.Raw("SELECT id AS user_id, token_id FROM users WHERE token_id IN ?", slices.Collect(maps.Keys(logins))).Scan(&rows).Error
	users := make(map[int64]idworker.ID, len(rows))
	for _, r := range rows {
		users[r.UserID] = idworker.ID(r.TokenID)
	}
	return users, err
}

// touchQuery writes rows that are locked.
func touchQuery(moved []use) (string, []any) {
	var times, users []any
	for _, u := range moved {
		times, users = append(times, u.user, u.at), append(users, u.user)
	}
	return "UPDATE users SET token_seen_at = CASE id" + strings.Repeat(" WHEN ? THEN ?", len(moved)) + " END WHERE id IN (?" +
		strings.Repeat(", ?", len(moved)-1) + ")", append(times, users...)
}
