package gormstore

import (
	"context"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/session"
)

var layout = idworker.Default()

// Sweep clears at most limit logins that were issued at or before issued, are
// at or below the global floor, or were last seen at or before seen, and
// returns how many it cleared; fewer than limit means that none was left to
// see. It walks the index of each and never scans.
//
// The condition is checked again as each row is written, so a login that was
// touched or replaced meanwhile stays. Floors rise without a stamp: the feed
// need not carry what every instance works out by itself from the policy.
func (s *Sessions) Sweep(ctx context.Context, issued, seen time.Time, limit int) (int, error) {
	// The first ID after the instant, less one, is the last ID at or before it.
	oldest := layout.Smallest(issued.Truncate(time.Millisecond).Add(time.Millisecond)) - 1
	floor, err := s.globalFloor(ctx)
	if err != nil {
		return 0, fmt.Errorf("gormstore: sweep: %w", err)
	}
	n := 0
	for _, stale := range []struct {
		column string
		mark   int64
		why    session.Reason
	}{
		{"token_id", int64(oldest), session.Expired},
		{"token_id", floor, session.Revoked},
		{"token_seen_at", seen.UnixMilli(), session.Idle},
	} {
		if n >= limit {
			break
		}
		cleared, err := s.sweep(ctx, stale.column, stale.mark, stale.why, limit-n)
		n += cleared
		if err != nil {
			return n, fmt.Errorf("gormstore: sweep: %w", err)
		}
	}
	return n, nil
}

func (s *Sessions) globalFloor(ctx context.Context) (floor int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err = s.DB.gorm.WithContext(ctx).Raw(globalFloor).Scan(&floor).Error
	return floor, err
}

// sweep clears rows whose column is at or below mark. Rows that another sweep
// or a touch took meanwhile make room for others.
func (s *Sessions) sweep(ctx context.Context, column string, mark int64, why session.Reason, limit int) (int, error) {
	cleared := 0
	for cleared < limit {
		found, n, err := s.sweepOnce(ctx, column, mark, why, limit-cleared)
		cleared += n
		if err != nil || found < limit-(cleared-n) {
			return cleared, err
		}
	}
	return cleared, nil
}

func (s *Sessions) sweepOnce(ctx context.Context, column string, mark int64, why session.Reason, limit int) (found, cleared int, err error) {
	ctx, cancel := context.WithTimeout(ctx, tau)
	defer cancel()
	err = s.DB.retry(ctx, func() error {
		db := s.DB.gorm.WithContext(ctx)
		var ids []int64
		if err := db.Raw("SELECT id FROM users WHERE "+column+" <= ? LIMIT ?", mark, limit).Scan(&ids).Error; err != nil {
			return err
		}
		if found = len(ids); found == 0 {
			return nil
		}
		// Every column reads only columns that are set after it: MySQL works
		// through SET from left to right. The sum hides the column from the
		// planner, which could otherwise walk all that is stale for each batch.
		done := db.Exec("UPDATE users SET token_floor = "+s.DB.d.max+"(token_floor, token_id), "+
			"ended_token_id = token_id, ended_token_hash = token_hash, ended_reason = ?, "+
			"token_id = NULL, token_hash = NULL, token_seen_at = NULL "+
			"WHERE id IN ? AND "+column+" + 0 <= ?", string(why), ids, mark)
		cleared = int(done.RowsAffected)
		return done.Error
	})
	return found, cleared, err
}
