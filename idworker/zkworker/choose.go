package zkworker

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/flakepass/flakepass/idworker"
)

// choose picks the number to try in this round of a race: free ones by the
// lowest fence, then one that was never used, then free ones whose fence is
// ahead of the clock, nearest first. Later rounds pick among the 2^round first,
// so that processes that start together spread. A number that is a key's is
// free only when its reserve has passed.
func (t tree) choose(ctx context.Context, total int, now int64, round int) (sight, error) {
	used, claimed, err := t.list(ctx)
	if err != nil {
		return sight{}, err
	}
	taken := make(map[int]bool)
	for _, n := range append(slices.Clone(used), claimed...) {
		taken[n] = true
	}
	free := slices.DeleteFunc(used, func(n int) bool { return n >= total || slices.Contains(claimed, n) })
	sights, damaged, err := t.lookAll(ctx, free)
	if err != nil {
		return sight{}, err
	}
	var ready, ahead, fresh []sight
	for _, s := range sights {
		switch {
		case s.claimed || !s.exists: // since the list was read
		case s.Fence <= now:
			ready = append(ready, s)
		case s.Key == "":
			ahead = append(ahead, s)
		}
	}
	spread := 1 << min(round, 10)
	for n := 0; n < total && len(fresh) < spread; n++ {
		if !taken[n] {
			fresh = append(fresh, sight{number: n})
		}
	}
	for _, kind := range [][]sight{ready, fresh, ahead} {
		if len(kind) > 0 {
			slices.SortFunc(kind, func(a, b sight) int {
				return cmp.Or(cmp.Compare(a.Fence, b.Fence), cmp.Compare(a.number, b.number))
			})
			return kind[rand.IntN(min(len(kind), spread))], nil //nolint:gosec // which number is tried is no secret
		}
	}
	return sight{}, errors.Join(idworker.ErrNoNumber, damaged)
}
