package sqlstore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// sampleSize is about how many logins a sample has of more than are counted one
// by one: enough for a curve that is 200 points high.
const sampleSize = 8_000

// Sample reads logins that live under the policy in force: all of them, or of
// many, about 8,000 at random. Like [Settings.Effect] it reads ranges of the
// index of tokens, so that it takes as long on a large table as on a small one.
func (s *Settings) Sample(ctx context.Context, inForce policy.Policy, now time.Time) (policy.Sample, error) {
	live, within, err := s.living(ctx, inForce, now)
	if err != nil {
		return policy.Sample{}, fmt.Errorf("sqlstore: sample: %w", err)
	}
	share := 1.0
	pieces := []piece{{live.lo, live.hi}}
	if within > s.DB.exactly {
		if live, err = s.narrow(ctx, live); err != nil {
			return policy.Sample{}, fmt.Errorf("sqlstore: sample: %w", err)
		}
		pilot, err := s.sample(ctx, live, 1e-4)
		if err != nil {
			return policy.Sample{}, fmt.Errorf("sqlstore: sample: %w", err)
		}
		share = 0.25
		if pilot.Count > 0 {
			share = min(share, float64(min(s.DB.exactly, sampleSize))/float64(pilot.Count))
		}
		pieces = live.random(share)
	}
	logins, err := s.facts(ctx, live, pieces)
	if err != nil {
		return policy.Sample{}, fmt.Errorf("sqlstore: sample: %w", err)
	}
	return policy.Sample{Logins: logins, Weight: 1 / share}, nil
}

// living is the span of the logins that live, and how many rows lie in its
// range, counted no farther than is counted one by one.
func (s *Settings) living(ctx context.Context, inForce policy.Policy, now time.Time) (span, int64, error) {
	db := s.DB.gorm.WithContext(ctx)
	var floor, within int64
	if err := db.Raw(globalFloor).Scan(&floor).Error; err != nil {
		return span{}, 0, err
	}
	oldest := layout.Smallest(inForce.OldestIssued(now).Truncate(time.Millisecond).Add(time.Millisecond)) - 1
	live := span{"token_id", max(int64(oldest), floor), math.MaxInt64, "token_seen_at + 0 > ?", inForce.OldestSeen(now).UnixMilli()}
	err := db.Raw("SELECT COUNT(*) FROM (SELECT 1 AS one FROM users WHERE token_id > ? LIMIT ?) AS within", live.lo, s.DB.exactly+1).Scan(&within).Error
	return live, within, err
}

// narrow is r without the ends in which nothing is.
func (s *Settings) narrow(ctx context.Context, r span) (span, error) {
	var ends struct{ Lo, Hi int64 }
	err := s.DB.gorm.WithContext(ctx).Raw("SELECT (SELECT MIN(token_id) - 1 FROM users WHERE token_id > ?) AS lo, "+
		"(SELECT MAX(token_id) FROM users) AS hi", r.lo).Scan(&ends).Error
	r.lo, r.hi = ends.Lo, ends.Hi
	return r, err
}

// random is one piece of each of the strata of r, at random, which together are
// that share of it.
func (r span) random(share float64) []piece {
	width := float64(r.hi-r.lo) / strata
	pieces := make([]piece, strata)
	for i := range pieces {
		begin := float64(i)*width + rand.Float64()*width*(1-share) //nolint:gosec // a sample, no secret
		pieces[i] = piece{r.lo + int64(begin), r.lo + int64(begin+width*share)}
	}
	return pieces
}

// facts reads what is known of the logins in those pieces, with one statement.
func (s *Settings) facts(ctx context.Context, r span, pieces []piece) ([]policy.Facts, error) {
	var query strings.Builder
	var args []any
	for i, p := range pieces {
		if i > 0 {
			query.WriteString(" UNION ALL ")
		}
		query.WriteString("SELECT token_id, token_seen_at FROM users WHERE " + r.column + " > ? AND " + r.column + " <= ? AND " + r.and)
		args = append(args, p.lo, p.hi, r.arg)
	}
	var rows []struct{ TokenID, TokenSeenAt int64 }
	if err := s.DB.gorm.WithContext(ctx).Raw(query.String(), args...).Scan(&rows).Error; err != nil {
		return nil, err
	}
	logins := make([]policy.Facts, len(rows))
	for i, row := range rows {
		logins[i] = policy.Facts{Issued: layout.Time(idworker.ID(row.TokenID)), Seen: fromMillis(row.TokenSeenAt)}
	}
	return logins, nil
}
