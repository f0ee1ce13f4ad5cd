package simulation

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestEachRuleIsNeeded takes out one rule at a time, in the simulated database or
// around the real parts, and holds that some world then breaks a promise.
func TestEachRuleIsNeeded(t *testing.T) {
	for without, in := range map[rule]theme{
		stampAlways: hangs, promptOrAgain: hangs, asOf: badLink, rowLeads: hangs, rowTells: badLink, writeNear: badLink, nearWrite: badLink,
		lockedNo: hangs, provenAge: changing, stampOrFail: noAnswer, oneRead: deafPoll, fence: changing, sweepFence: changing, askLogout: changing,
	} {
		t.Run(string(without), func(t *testing.T) {
			seed, err := firstWrong(t, without, in, setting(t, "FLAKEPASS_SIM_NEEDED", 4000))
			if err == nil {
				t.Fatal("no promise was broken")
			}
			first, _, _ := strings.Cut(err.Error(), "\n") // the story is not interesting
			t.Logf("in world %d: %s", seed, first)
		})
	}
}

// firstWrong is a world that breaks a promise without that rule.
func firstWrong(t *testing.T, without rule, in theme, seeds uint64) (seed uint64, err error) {
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
				if _, wrong := one(t, planWith(n, in), without); wrong != nil {
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
