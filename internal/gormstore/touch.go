package gormstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
)

// touchBatch is how many rows one statement touches: enough to spare round
// trips, few enough that nobody waits long for a row.
const touchBatch = 200

// TouchAll writes times of last use, many with one statement. It never revives:
// a row that has another login by now, or none, is left alone, and so is one
// that was last seen at or before oldest. A row moves only forward, and by at
// least gap.
func (s *Sessions) TouchAll(ctx context.Context, seen map[idworker.ID]time.Time, oldest time.Time, gap time.Duration) error {
	ids := slices.Sorted(maps.Keys(seen))
	for batch := range slices.Chunk(ids, touchBatch) {
		if err := s.touch(ctx, batch, seen, oldest, gap); err != nil {
			return fmt.Errorf("gormstore: touch: %w", err)
		}
	}
	return nil
}

// touch finds the rows without a lock and writes them by primary key, as every
// other change does. Going by the index of tokens, it would lock that first and
// the row second, which a login does the other way round.
func (s *Sessions) touch(ctx context.Context, ids []idworker.ID, seen map[idworker.ID]time.Time, oldest time.Time, gap time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	return s.DB.retry(ctx, func() error {
		db := s.DB.gorm.WithContext(ctx)
		rows, err := holders(db, ids)
		if err != nil || len(rows) == 0 {
			return err
		}
		query, args := touchQuery(rows, seen, oldest, gap)
		return db.Exec(query, args...).Error
	})
}

// A holder is a user, and the login that the user's row holds.
type holder struct{ UserID, TokenID int64 }

// holders are the rows that hold those logins, in the order of their keys.
func holders(db *gorm.DB, ids []idworker.ID) ([]holder, error) {
	var rows []holder
	err := db.Raw("SELECT id AS user_id, token_id FROM users WHERE token_id IN ?", ids).Scan(&rows).Error
	slices.SortFunc(rows, func(a, b holder) int { return cmp.Compare(a.UserID, b.UserID) })
	return rows, err
}

func touchQuery(rows []holder, seen map[idworker.ID]time.Time, oldest time.Time, gap time.Duration) (string, []any) {
	each := "CASE id" + strings.Repeat(" WHEN ? THEN ?", len(rows)) + " END"
	var users, tokens, times []any
	for _, r := range rows {
		users = append(users, r.UserID)
		tokens = append(tokens, r.UserID, r.TokenID)
		times = append(times, r.UserID, seen[idworker.ID(r.TokenID)].UnixMilli())
	}
	return "UPDATE users SET token_seen_at = " + each + " WHERE id IN (?" + strings.Repeat(", ?", len(rows)-1) + ")" +
			" AND COALESCE(token_id, 0) = " + each + " AND token_seen_at > ? AND token_seen_at + ? <= " + each,
		slices.Concat(times, users, tokens, []any{oldest.UnixMilli(), gap.Milliseconds()}, times)
}
