package simulation

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestRevocationHolds runs as many worlds as FLAKEPASS_SIM_SEEDS says, from the
// seed FLAKEPASS_SIM_FIRST on. To see one that failed again:
//
//	FLAKEPASS_SIM_FIRST=<seed> FLAKEPASS_SIM_SEEDS=1 go test ./internal/proof/simulation -run TestRevocationHolds -v
func TestRevocationHolds(t *testing.T) {
	first, seeds := setting(t, "FLAKEPASS_SIM_FIRST", 0), setting(t, "FLAKEPASS_SIM_SEEDS", 100)
	var (
		mu      sync.Mutex
		all     totals
		running sync.WaitGroup
		next    atomic.Uint64
	)
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for n := next.Add(1) - 1; n < seeds && !t.Failed(); n = next.Add(1) - 1 {
				sum, err := one(t, planOf(first+n), "")
				if err != nil {
					t.Errorf("FLAKEPASS_SIM_FIRST=%d FLAKEPASS_SIM_SEEDS=1: %v", first+n, err)
				}
				mu.Lock()
				all.add(sum)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if t.Failed() {
		return
	}
	t.Logf("%d worlds: %d accepts, %d refusals, %d of them by the policy, %d undecided, %d logins on lists, %d accepts beside another login of the user, %d ends by the limit; the latest accept came %v after an end",
		seeds, all.accepts, all.refused, all.idle, all.unsure, all.listed, all.beside, all.limited, all.worst.Round(time.Millisecond))
	if n := int(seeds); n >= 100 && (all.accepts < 20*n || all.refused < 20*n || all.idle < n || all.unsure < n || all.listed < n || all.beside < n || all.limited < n/10) {
		t.Error("too little happened to say anything")
	}
}

// one lives through one world, without one of the rules if that is not empty.
func one(t *testing.T, p plan, without rule) (sum totals, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, p, without)
		err = w.run()
		sum = totals{accepts: w.judge.accepts, refused: w.judge.refused, unsure: w.judge.unsure, idle: w.judge.idle, listed: w.lists, beside: w.judge.beside, limited: w.judge.limited(), worst: w.judge.worst}
	})
	return sum, err
}

// totals are what happened in many worlds.
type totals struct {
	accepts, refused, unsure, idle, listed int

	beside  int // accepts while another login of the user lived
	limited int // logins that ended because of a lower limit

	worst time.Duration
}

func (t *totals) add(o totals) {
	t.accepts += o.accepts
	t.refused += o.refused
	t.unsure += o.unsure
	t.idle += o.idle
	t.listed += o.listed
	t.beside += o.beside
	t.limited += o.limited
	t.worst = max(t.worst, o.worst)
}

func setting(t *testing.T, name string, def uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
