package gormstore

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/policy"
)

// Effect says what it would do to the logins that live to replace the policy in
// force by next. It reads ranges of indexes: all of a small one, and a sample
// of a large one.
func (s *Settings) Effect(ctx context.Context, inForce, next policy.Policy, now time.Time) (policy.Effect, error) {
	var floor int64
	if err := s.DB.gorm.WithContext(ctx).Raw(globalFloor).Scan(&floor).Error; err != nil {
		return policy.Effect{}, fmt.Errorf("gormstore: effect: %w", err)
	}
	after := inForce.Succeed(next, now)
	issued0, seen0 := marks(&inForce, now, floor)
	issued1, seen1 := marks(&after, now, floor)
	issued2, seen2 := marks(&after, now.Add(time.Hour), floor)
	var effect policy.Effect
	for _, part := range []struct {
		to     *policy.Estimate
		ranges []span
	}{
		{&effect.Live, []span{{"token_id", issued0, math.MaxInt64, "token_seen_at + 0 > ?", seen0}}},
		{&effect.Ends, []span{
			{"token_id", issued0, issued1, "token_seen_at + 0 > ?", seen0},
			{"token_seen_at", seen0, seen1, "token_id + 0 > ?", issued1},
		}},
		{&effect.Soon, []span{
			{"token_id", issued1, issued2, "token_seen_at + 0 > ?", seen1},
			{"token_seen_at", seen1, seen2, "token_id + 0 > ?", issued2},
		}},
	} {
		var errors2 float64
		for _, r := range part.ranges {
			n, err := s.count(ctx, r)
			if err != nil {
				return policy.Effect{}, fmt.Errorf("gormstore: effect: %w", err)
			}
			part.to.Count += n.Count
			errors2 += float64(n.Error) * float64(n.Error)
		}
		part.to.Error = int64(math.Ceil(math.Sqrt(errors2)))
	}
	return effect, nil
}

// A span is the rows whose column lies above lo and up to hi, and for which
// and holds.
type span struct {
	column string
	lo, hi int64
	and    string
	arg    any
}

const (
	// exactly is how many rows of an index are counted one by one.
	exactly int64 = 50_000

	// strata is into how many parts a larger range is cut; a piece of each is
	// counted.
	strata = 128
)

// count counts the rows of r, or estimates their number from a sample.
func (s *Settings) count(ctx context.Context, r span) (policy.Estimate, error) {
	if r.hi <= r.lo {
		return policy.Estimate{}, nil
	}
	db := s.DB.gorm.WithContext(ctx)
	var within int64
	err := db.Raw("SELECT COUNT(*) FROM (SELECT 1 AS one FROM users WHERE "+r.column+" > ? AND "+r.column+" <= ? LIMIT ?) AS within",
		r.lo, r.hi, s.DB.exactly+1).Scan(&within).Error
	if err != nil {
		return policy.Estimate{}, err
	}
	if within <= s.DB.exactly {
		counts, err := s.pieces(ctx, r, []piece{{r.lo, r.hi}})
		if err != nil {
			return policy.Estimate{}, err
		}
		return policy.Estimate{Count: counts[0]}, nil
	}
	// Nothing is looked for where nothing is.
	if err := db.Raw("SELECT MIN("+r.column+") - 1 FROM users WHERE "+r.column+" > ?", r.lo).Scan(&r.lo).Error; err != nil {
		return policy.Estimate{}, err
	}
	if err := db.Raw("SELECT MAX("+r.column+") FROM users WHERE "+r.column+" <= ?", r.hi).Scan(&r.hi).Error; err != nil {
		return policy.Estimate{}, err
	}
	return s.estimate(ctx, r)
}

// estimate estimates the number of the rows of r, of which there are many and
// which begin and end where r does.
func (s *Settings) estimate(ctx context.Context, r span) (policy.Estimate, error) {
	// A first look says how large the pieces must be.
	const first = 1e-4
	pilot, err := s.sample(ctx, r, first)
	if err != nil {
		return policy.Estimate{}, err
	}
	share := 0.25
	if pilot.Count > 0 {
		share = min(share, float64(s.DB.exactly)/float64(pilot.Count))
	}
	return s.sample(ctx, r, share)
}

// sample estimates how many rows are in r from that share of it: one piece, at
// random, of each of the strata. The error is twice the standard error, from the
// differences of neighbouring strata (Cochran, Sampling Techniques, 5A.12).
func (s *Settings) sample(ctx context.Context, r span, share float64) (policy.Estimate, error) {
	counts, err := s.pieces(ctx, r, r.random(share))
	if err != nil {
		return policy.Estimate{}, err
	}
	var sum, variance float64
	for i := 0; i < strata; i += 2 {
		a, b := float64(counts[i])/share, float64(counts[i+1])/share
		sum += a + b
		variance += (a - b) * (a - b)
	}
	return policy.Estimate{Count: int64(math.Round(sum)), Error: int64(math.Ceil(2*math.Sqrt(variance))) + 1}, nil
}

// A piece is the values above lo and up to hi.
type piece struct{ lo, hi int64 }

// pieces counts the rows of r in each piece, with one statement.
func (s *Settings) pieces(ctx context.Context, r span, pieces []piece) ([]int64, error) {
	var query strings.Builder
	var args []any
	for i, p := range pieces {
		if i > 0 {
			query.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&query, "SELECT %d AS piece, COUNT(*) AS n FROM users WHERE %s > ? AND %s <= ? AND %s", i, r.column, r.column, r.and)
		args = append(args, p.lo, p.hi, r.arg)
	}
	var rows []struct {
		Piece int
		N     int64
	}
	if err := s.DB.gorm.WithContext(ctx).Raw(query.String(), args...).Scan(&rows).Error; err != nil {
		return nil, err
	}
	counts := make([]int64, len(pieces))
	for _, row := range rows {
		counts[row.Piece] = row.N
	}
	return counts, nil
}
