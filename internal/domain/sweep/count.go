package sweep

import (
	"context"
	"fmt"
)

// Counts are how many logins are over, by the stage in which a pass would clear
// them.
type Counts struct{ Expired, Revoked, Idle int64 }

// Total is how many a pass would clear.
func (c Counts) Total() int64 { return c.Expired + c.Revoked + c.Idle }

// Count counts what a pass would clear now, by the walk of a pass that clears
// nothing. It takes no lease and locks nothing. counted, if set, hears how many
// there are so far.
func (s *Sweeper) Count(ctx context.Context, counted func(int64)) (Counts, error) {
	const page = 10_000
	marks, err := s.current(ctx)
	if err != nil {
		return Counts{}, fmt.Errorf("sweep: %w", err)
	}
	var n [stages]int64
	total := int64(0)
	for at := (Cursor{}); at.Stage < stages; {
		stale, err := s.Store.Stale(ctx, marks, at, page)
		if err != nil {
			return Counts{}, fmt.Errorf("sweep: %w", err)
		}
		n[at.Stage] += int64(len(stale))
		if total += int64(len(stale)); counted != nil {
			counted(total)
		}
		if len(stale) < page {
			at = Cursor{Stage: at.Stage + 1}
			continue
		}
		end := stale[len(stale)-1]
		at.Value, at.User = end.Value, end.User
	}
	return Counts{n[Expired], n[Revoked], n[Idle]}, nil
}
