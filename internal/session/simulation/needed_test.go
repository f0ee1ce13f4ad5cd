package simulation

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestEachRuleIsNeeded takes out one rule at a time, in the simulated database or
// around the real parts, and holds that some world then breaks a promise.
func TestEachRuleIsNeeded(t *testing.T) {
	for _, without := range []rule{
		stampAlways, promptOrAgain, asOf, rowLeads, rowTells, writeNear, nearWrite, lockedNo, provenAge, oneRead, fence, sweepFence,
		askLogout, baseLocked,
	} {
		t.Run(string(without), func(t *testing.T) {
			seed, err := firstWrong(t, without, setting(t, "FLAKEPASS_SIM_NEEDED", 4000))
			if err == nil {
				t.Fatal("no promise was broken")
			}
			t.Logf("in world %d: %v", seed, err)
		})
	}
}

// firstWrong is a world that breaks a promise without that rule.
func firstWrong(t *testing.T, without rule, seeds uint64) (seed uint64, err error) {
	t.Helper()
	var (
		mu      sync.Mutex
		running sync.WaitGroup
		next    atomic.Uint64
	)
	found := func() bool { mu.Lock(); defer mu.Unlock(); return err != nil }
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for n := next.Add(1) - 1; n < seeds && !found(); n = next.Add(1) - 1 {
				if wrong, _ := one(t, planOf(n), without); wrong != nil {
					mu.Lock()
					seed, err = n, wrong
					mu.Unlock()
				}
			}
		})
	}
	running.Wait()
	return seed, err
}
