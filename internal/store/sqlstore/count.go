package sqlstore

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A span is the rows of a table whose column lies above lo and up to hi, and for which
// and holds.
type span struct {
	table  string // empty: every table that may hold sessions
	column string
	lo, hi int64
	and    string
	arg    any
}

// every is the condition, of 1, that holds for each row.
const every = "? = 1"

// fetches reports whether and is about what the index of the column does not
// have: each entry costs a look at its row, which may be on the disk.
func (r *span) fetches() bool { return r.column == "token_id" && r.and != every }

const (
	// exactly is how many entries of an index are counted one by one.
	exactly int64 = 50_000

	// perFetch is how many entries may be read in the time of one row.
	perFetch = 50

	// unhurried is how many rows are counted one by one however long it takes.
	unhurried = 1000

	// hurry is how long a count goes on reading for the sake of a smaller error, and how
	// long a step of a sweep goes from user to user.
	hurry = 150 * time.Millisecond

	// strata is into how many parts a larger range is cut; a piece of each is
	// counted.
	strata = 64

	// rounds is how many samples are taken, if there is time.
	rounds = 5
)

// count counts the rows of r, or estimates their number from a sample.
func (s *Settings) count(ctx context.Context, r span) (policy.Estimate, error) {
	if r.table != "" {
		return s.countIn(ctx, r)
	}
	var sum policy.Estimate
	for _, r.table = range s.DB.tables() {
		n, err := s.countIn(ctx, r)
		if err != nil {
			return policy.Estimate{}, err
		}
		sum = policy.Estimate{Count: sum.Count + n.Count, Error: together(sum.Error, n.Error)}
	}
	return sum, nil
}

func (s *Settings) countIn(ctx context.Context, r span) (policy.Estimate, error) {
	if r.hi <= r.lo {
		return policy.Estimate{}, nil
	}
	began := time.Now()
	db := s.DB.gorm.WithContext(ctx)
	most := s.DB.exactly
	if r.fetches() {
		most = max(most/5, 1)
	}
	var beyond []int64
	err := db.Raw("SELECT "+r.column+" FROM "+r.table+" WHERE "+r.column+" > ? AND "+r.column+" <= ? ORDER BY "+r.column+" LIMIT 1 OFFSET ?",
		r.lo, r.hi, most).Scan(&beyond).Error
	if err != nil {
		return policy.Estimate{}, err
	}
	if len(beyond) == 0 {
		if n, whole, err := s.whole(ctx, r, began); err != nil || whole {
			return policy.Estimate{Count: n}, err
		}
	}
	// Nothing is looked for where nothing is. Not MIN and MAX: MySQL takes a bound
	// that holds for every number for none, and reads the whole index for its end.
	err = db.Raw("SELECT "+r.column+" - 1 FROM "+r.table+" WHERE "+r.column+" > ? ORDER BY "+r.column+" LIMIT 1", r.lo).Scan(&r.lo).Error
	if err != nil {
		return policy.Estimate{}, err
	}
	err = db.Raw("SELECT "+r.column+" FROM "+r.table+" WHERE "+r.column+" <= ? ORDER BY "+r.column+" DESC LIMIT 1", r.hi).Scan(&r.hi).Error
	if err != nil {
		return policy.Estimate{}, err
	}
	return s.estimate(ctx, r)
}

// whole counts the rows of r one by one. It gives up if that means many looks at
// rows and they are slow: a statement that is cut off would go on in the server,
// so it asks for some at a time.
func (s *Settings) whole(ctx context.Context, r span, began time.Time) (n int64, whole bool, err error) {
	if !r.fetches() {
		counts, err := s.pieces(ctx, r, []piece{{r.lo, r.hi}})
		if err != nil {
			return 0, false, err
		}
		return counts[0], true, nil
	}
	for {
		var page struct{ Entries, Hits, Last int64 }
		err := s.DB.gorm.WithContext(ctx).Raw("SELECT COUNT(*) AS entries, COALESCE(SUM(hit), 0) AS hits, COALESCE(MAX(at), 0) AS last FROM "+
			"(SELECT "+r.column+" AS at, CASE WHEN "+r.and+" THEN 1 ELSE 0 END AS hit FROM "+r.table+" WHERE "+
			r.column+" > ? AND "+r.column+" <= ? ORDER BY "+r.column+" LIMIT ?) AS page", r.arg, r.lo, r.hi, unhurried).Scan(&page).Error
		if err != nil {
			return 0, false, err
		}
		n += page.Hits
		if page.Entries < unhurried {
			return n, true, nil
		}
		if time.Since(began) > s.DB.hurry {
			return 0, false, nil
		}
		r.lo = page.Last
	}
}

// estimate estimates the number of the rows of r, of which there are many and
// which begin and end where r does. It takes samples until they are enough or
// the time is over: on a slow database the error is larger.
func (s *Settings) estimate(ctx context.Context, r span) (policy.Estimate, error) {
	began := time.Now()
	want := max(s.DB.exactly/rounds, strata)
	if r.fetches() {
		want = max(want*rounds/perFetch, strata)
	}
	share, err := s.share(ctx, r, want)
	if err != nil {
		return policy.Estimate{}, err
	}
	var sum, squares, n float64
	for n < rounds && (n == 0 || time.Since(began) < s.DB.hurry) {
		e, err := s.sample(ctx, r, share)
		if err != nil {
			return policy.Estimate{}, err
		}
		n++
		sum += float64(e.Count)
		squares += float64(e.Error) * float64(e.Error)
	}
	return policy.Estimate{Count: int64(math.Round(sum / n)), Error: int64(math.Ceil(math.Sqrt(squares) / n))}, nil
}

// share estimates which share of r has want entries. An entry counts also if the condition of r
// does not hold for it, because it has to be read all the same. In the index of roles only the
// entries of the role are read, and only these count. share looks at more and more of the index
// until it has seen enough.
func (s *Settings) share(ctx context.Context, r span, want int64) (float64, error) {
	const most = 0.25
	if r.column != "id" { // the index of roles has those of one role together
		r.and, r.arg = every, 1
	}
	for look := 1e-4; look < most; look *= 10 {
		pilot, err := s.sample(ctx, r, look)
		if err != nil {
			return 0, err
		}
		if float64(pilot.Count)*look >= strata {
			return min(most, float64(want)/float64(pilot.Count)), nil
		}
	}
	return most, nil
}

// sample estimates how many rows are in r from that share of it: one piece, at
// random, of each of the strata.
func (s *Settings) sample(ctx context.Context, r span, share float64) (policy.Estimate, error) {
	counts, err := s.pieces(ctx, r, r.random(share))
	if err != nil {
		return policy.Estimate{}, err
	}
	return estimated(counts, share), nil
}

// estimated is the sum of what was counted in one piece of each of the strata, which together
// are that share of all. The error is twice the standard error, from the differences of
// neighbouring strata (Cochran, Sampling Techniques, 5A.12). A single piece is all there is.
func estimated(counts []int64, share float64) policy.Estimate {
	if len(counts) == 1 {
		return policy.Estimate{Count: counts[0]}
	}
	var sum, variance float64
	for i := 0; i < len(counts); i += 2 {
		a, b := float64(counts[i])/share, float64(counts[i+1])/share
		sum += a + b
		variance += (a - b) * (a - b)
	}
	return policy.Estimate{Count: int64(math.Round(sum)), Error: int64(math.Ceil(2*math.Sqrt(variance))) + 1}
}

// A piece is the values above lo and up to hi.
type piece struct{ lo, hi int64 }

// unionAll is a query so many times, as one.
func unionAll(times int, query string) string {
	return query + strings.Repeat(" UNION ALL "+query, times-1)
}

// pieces counts the rows of r in each piece, with one statement.
func (s *Settings) pieces(ctx context.Context, r span, pieces []piece) ([]int64, error) {
	var args []any
	for i, p := range pieces {
		args = append(args, i, p.lo, p.hi, r.arg)
	}
	query := unionAll(len(pieces), "SELECT ? AS piece, COUNT(*) AS n FROM "+r.table+" WHERE "+r.column+" > ? AND "+r.column+" <= ? AND "+r.and)
	var rows []struct {
		Piece int
		N     int64
	}
	if err := s.DB.gorm.WithContext(ctx).Raw(query, args...).Scan(&rows).Error; err != nil {
		return nil, err
	}
	counts := make([]int64, len(pieces))
	for _, row := range rows {
		counts[row.Piece] = row.N
	}
	return counts, nil
}
