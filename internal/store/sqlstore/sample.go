package sqlstore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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
	sampled := within > s.DB.exactly
	if sampled {
		var pilot int64
		for i := range live {
			if live[i], err = s.narrow(ctx, live[i]); err != nil {
				return policy.Sample{}, fmt.Errorf("sqlstore: sample: %w", err)
			}
			of, err := s.sample(ctx, live[i], 1e-4)
			if err != nil {
				return policy.Sample{}, fmt.Errorf("sqlstore: sample: %w", err)
			}
			pilot += of.Count
		}
		share = 0.25
		if pilot > 0 {
			share = min(share, float64(min(s.DB.exactly, sampleSize))/float64(pilot))
		}
	}
	var logins []policy.Facts
	for _, of := range live {
		pieces := []piece{{of.lo, of.hi}}
		if sampled {
			pieces = of.random(share)
		}
		some, err := s.facts(ctx, of, pieces)
		if err != nil {
			return policy.Sample{}, fmt.Errorf("sqlstore: sample: %w", err)
		}
		logins = append(logins, some...)
	}
	return policy.Sample{Logins: logins, Weight: 1 / share}, nil
}

// living are the spans of the logins that live, one of each table, and how many rows lie in
// their ranges, counted no farther in each than is counted one by one.
func (s *Settings) living(ctx context.Context, inForce policy.Policy, now time.Time) (live []span, within int64, err error) {
	db := s.DB.gorm.WithContext(ctx)
	floor, err := s.DB.floor(db, "")
	if err != nil {
		return nil, 0, err
	}
	issued, seen := marks(&inForce, now, floor) // those of the longest scope; Left says which live
	for _, table := range s.DB.tables() {
		of := span{table, "token_id", issued, math.MaxInt64, "token_seen_at + 0 > ?", seen}
		var n int64
		err := db.Raw("SELECT COUNT(*) FROM (SELECT 1 AS one FROM "+table+" WHERE token_id > ? LIMIT ?) AS within", of.lo, s.DB.exactly+1).Scan(&n).Error
		if err != nil {
			return nil, 0, err
		}
		live, within = append(live, of), within+n
	}
	return live, within, nil
}

// narrow is r without the ends in which nothing is.
func (s *Settings) narrow(ctx context.Context, r span) (span, error) {
	var ends struct{ Lo, Hi *int64 }
	err := s.DB.gorm.WithContext(ctx).Raw("SELECT (SELECT MIN(token_id) - 1 FROM "+r.table+" WHERE token_id > ?) AS lo, "+
		"(SELECT MAX(token_id) FROM "+r.table+") AS hi", r.lo).Scan(&ends).Error
	if err == nil && ends.Lo != nil && ends.Hi != nil {
		r.lo, r.hi = *ends.Lo, *ends.Hi
	} else {
		r.hi = r.lo
	}
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
	var args []any
	for _, p := range pieces {
		args = append(args, p.lo, p.hi, r.arg)
	}
	query := unionAll(len(pieces), "SELECT token_id, token_seen_at, "+classOf+" AS class, "+roleOf(r.table)+" AS role FROM "+r.table+" WHERE "+r.column+" > ? AND "+r.column+" <= ? AND "+r.and)
	var rows []struct {
		TokenID, TokenSeenAt int64
		Class, Role          string
	}
	if err := s.DB.gorm.WithContext(ctx).Raw(query, args...).Scan(&rows).Error; err != nil {
		return nil, err
	}
	logins := make([]policy.Facts, len(rows))
	for i, row := range rows {
		logins[i] = policy.Facts{Issued: layout.Time(idworker.ID(row.TokenID)), Seen: fromMillis(row.TokenSeenAt), Class: row.Class, Role: row.Role}
	}
	return logins, nil
}
