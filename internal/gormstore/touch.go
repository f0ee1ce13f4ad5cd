package gormstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// touchBatch is how many rows one statement touches: enough to spare round
// trips, few enough that nobody waits long for a row.
const touchBatch = 200

// TouchAll writes times of last use, many with one statement. It never revives:
// a login that ended has no token_id to match, and one last seen at or before
// oldest is over. A row moves only forward, and by at least gap.
func (s *Sessions) TouchAll(ctx context.Context, seen map[idworker.ID]time.Time, oldest time.Time, gap time.Duration) error {
	ids := slices.Sorted(maps.Keys(seen)) // all writers take rows in one order
	for batch := range slices.Chunk(ids, touchBatch) {
		query, args := touchQuery(batch, seen, oldest, gap)
		if err := s.touch(ctx, query, args); err != nil {
			return fmt.Errorf("gormstore: touch: %w", err)
		}
	}
	return nil
}

func (s *Sessions) touch(ctx context.Context, query string, args []any) error {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	return s.DB.retry(ctx, func() error {
		return s.DB.gorm.WithContext(ctx).Exec(query, args...).Error
	})
}

func touchQuery(ids []idworker.ID, seen map[idworker.ID]time.Time, oldest time.Time, gap time.Duration) (string, []any) {
	times := "CASE token_id" + strings.Repeat(" WHEN ? THEN ?", len(ids)) + " END"
	in := "?" + strings.Repeat(", ?", len(ids)-1)
	var pairs, list []any
	for _, id := range ids {
		pairs = append(pairs, int64(id), seen[id].UnixMilli())
		list = append(list, int64(id))
	}
	args := slices.Concat(pairs, list, []any{oldest.UnixMilli(), gap.Milliseconds()}, pairs)
	return "UPDATE users SET token_seen_at = " + times +
		" WHERE token_id IN (" + in + ") AND token_seen_at > ? AND token_seen_at + ? <= " + times, args
}
