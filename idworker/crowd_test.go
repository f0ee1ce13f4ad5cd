package idworker_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// crowd has callers mint at the same time until over, and returns what they got.
// It holds them to the order: if one call returns before another begins, its IDs
// are smaller. caller makes a caller's mint, which returns IDs in their order.
func crowd(t *testing.T, callers int, over time.Time, caller func(n int) (mint func() ([]idworker.ID, error))) []idworker.ID {
	t.Helper()
	var (
		highest atomic.Int64 // of all that was returned
		wg      sync.WaitGroup
		mu      sync.Mutex
		all     []idworker.ID
	)
	for n := range callers {
		mint := caller(n)
		wg.Go(func() {
			var mine []idworker.ID
			for time.Now().Before(over) {
				before := idworker.ID(highest.Load())
				ids, err := mint()
				if err != nil {
					t.Errorf("refused: %v", err)
					return
				}
				for i, id := range ids {
					if id <= before {
						t.Errorf("got %d as %d of %d, and %d had been returned before", id, i, len(ids), before)
						return
					}
					before = id
				}
				for h := highest.Load(); h < int64(before) && !highest.CompareAndSwap(h, int64(before)); {
					h = highest.Load()
				}
				mine = append(mine, ids...)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	wg.Wait()
	return all
}

// thief takes every number from its owner, again and again, until over.
func thief(s *store, over time.Time) {
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(over) {
		<-tick.C
		s.steal()
	}
}

// single is a caller's mint of one ID at a time.
func single(id idworker.ID, err error) ([]idworker.ID, error) {
	return []idworker.ID{id}, err
}

func noneTwice(t *testing.T, ids []idworker.ID) {
	t.Helper()
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			t.Fatalf("ID %d twice among %d", ids[i], len(ids))
		}
	}
}
