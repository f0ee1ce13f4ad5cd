package sqlworker

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/internal/lend"
)

// A seat is a number as it was when it was looked at.
type seat struct {
	number int
	state  state
	owner  string
	fence  int64
}

// The states of a seat. SQL in choose knows their numbers.
type state int

const (
	inUse  state = iota
	given        // back by its owner
	silent       // its owner was not seen for a while
	unused       // never lent; there is no row
)

// choose picks the seat to try in this round of a race.
func (l *Lender) choose(ctx context.Context, w words, now int64, round int) (seat, error) {
	many, err := lend.Numbers(l.Numbers)
	switch {
	case err != nil:
		return seat{}, err
	case l.Only != nil && *l.Only < 0:
		return seat{}, fmt.Errorf("Only is %d, and numbers begin at 0", *l.Only) //nolint:staticcheck // the name of the field
	}
	stale := cmp.Or(l.Stale, defaultStale)
	// There are hardly more rows than processes at any one time, so all are read.
	//nolint:gosec // w.now is one of the constants of the dialects
	rows, err := l.DB.QueryContext(ctx, `SELECT number, owner_token, fence_ms,
			CASE WHEN owner_token = '' THEN 1 WHEN seen_at <= `+w.now+` - ? THEN 2 ELSE 0 END
		FROM worker_nodes ORDER BY number`, stale.Milliseconds())
	if err != nil {
		return seat{}, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	var seats []seat
	for rows.Next() {
		var s seat
		if err := rows.Scan(&s.number, &s.owner, &s.fence, &s.state); err != nil {
			return seat{}, err
		}
		seats = append(seats, s)
	}
	if err := rows.Err(); err != nil {
		return seat{}, err
	}
	if l.Only != nil {
		i := slices.IndexFunc(seats, func(s seat) bool { return s.number == *l.Only })
		if i < 0 {
			return seat{number: *l.Only, state: unused}, nil
		}
		return seats[i], nil
	}
	return prefer(fill(seats, many), now, round)
}

// fill drops the seats that are not among that many and adds those without a row,
// as far as they could be chosen. It expects and keeps the order of numbers.
func fill(seats []seat, many int) []seat {
	const enough = 64 // unused ones, for a race
	var all []seat
	for n, added := 0, 0; n < many && (len(seats) > 0 || added < enough); n++ {
		for len(seats) > 0 && seats[0].number < n {
			seats = seats[1:]
		}
		switch {
		case len(seats) > 0 && seats[0].number == n:
			all = append(all, seats[0])
		case added < enough:
			all = append(all, seat{number: n, state: unused})
			added++
		}
	}
	return all
}

// prefer picks a seat in the order that Acquire states. Within a kind it is the
// lowest number, or in later rounds one of the 2^round lowest.
func prefer(seats []seat, now int64, round int) (seat, error) {
	for _, kind := range []state{given, silent, unused} {
		var ready []seat
		for _, s := range seats {
			if s.state == kind && s.fence <= now {
				ready = append(ready, s)
			}
		}
		if n := len(ready); n > 0 {
			return ready[rand.IntN(min(n, 1<<min(round, 10)))], nil //nolint:gosec // which number is tried is no secret
		}
	}
	var nearest *seat
	for i, s := range seats {
		if s.state != inUse && (nearest == nil || s.fence < nearest.fence) {
			nearest = &seats[i]
		}
	}
	if nearest == nil {
		return seat{}, idworker.ErrNoNumber
	}
	return *nearest, nil
}
