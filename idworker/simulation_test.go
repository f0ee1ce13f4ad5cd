package idworker_test

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What "make sim" says. A failing seed is repeated with -seed.
var (
	seeds = flag.Uint64("seeds", 0, "how many seeds the simulation runs; 0 means a few")
	from  = flag.Uint64("seed", 0, "the first seed of the simulation")
)

const steps = 100

// simulate lives through one seed in a bubble of its own, which always begins
// at the same instant.
func simulate(t *testing.T, seed uint64, bug string) (w *world, err error) {
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(seed, bug)
		err = w.run(t.Context(), steps)
	})
	return w, err
}

// TestSimulationMintsNothingTwice is the promise of the package: no ID twice over
// all workers and lives, each life in order, and nothing outside of what was
// lent to it.
func TestSimulationMintsNothingTwice(t *testing.T) {
	n := *seeds
	if n == 0 {
		n = fewSeeds
	}
	start := time.Now()
	var minted, done atomic.Uint64
	t.Run("shards", func(t *testing.T) {
		shards := uint64(runtime.GOMAXPROCS(0))
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for seed := *from + shard; seed < *from+n && !t.Failed(); seed += shards {
					w, err := simulate(t, seed, "")
					if err != nil {
						t.Errorf("seed %d: %v\nagain: go test ./idworker -run '^TestSimulationMintsNothingTwice$' -seeds 1 -seed %d",
							seed, err, seed)
					}
					minted.Add(uint64(len(w.seen)))
					done.Add(1)
				}
			})
		}
	})
	t.Logf("%d seeds, %d IDs, none twice, %v", done.Load(), minted.Load(), time.Since(start).Round(time.Millisecond))
	if minted.Load() < 100*done.Load() {
		t.Errorf("only %d IDs in %d seeds: nothing was tested", minted.Load(), done.Load())
	}
}

// TestSimulationRepeats: a seed that was printed shows the same again. Once in
// some hundred times, on a busy machine, the runtime has a say, where several
// callers wake at once.
func TestSimulationRepeats(t *testing.T) {
	for seed := range uint64(200) {
		shown := make(map[uint64]bool)
		for range 5 {
			w, _ := simulate(t, seed, "")
			if shown[w.digest] {
				shown = nil
				break
			}
			shown[w.digest] = true
		}
		if shown != nil {
			t.Errorf("seed %d showed something else each time", seed)
		}
	}
}

// TestSimulationFindsBrokenLenders shows that the simulation can fail.
func TestSimulationFindsBrokenLenders(t *testing.T) {
	for _, bug := range []string{
		"starts at now", "token of the host", "fence behind", "extends for anybody",
		"releases for anybody", "hands back everything",
	} {
		t.Run(bug, func(t *testing.T) {
			for seed := range uint64(2000) {
				if _, err := simulate(t, seed, bug); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("not found")
		})
	}
}

// TestForgetfulStoreIsNotCovered shows what the documentation of the package says:
// a store that forgets what it acknowledged lends the same range twice. Nothing
// in a Worker can prevent that.
func TestForgetfulStoreIsNotCovered(t *testing.T) {
	const n = 200
	twice := 0
	for seed := range uint64(n) {
		if _, err := simulate(t, seed, "forgets"); err != nil {
			if !strings.Contains(err.Error(), " twice: ") {
				t.Errorf("seed %d: %v", seed, err)
			}
			twice++
		}
	}
	t.Logf("%d of %d worlds whose store forgets minted an ID twice", twice, n)
	if twice == 0 {
		t.Error("none was minted twice: the documentation promises too little")
	}
}
