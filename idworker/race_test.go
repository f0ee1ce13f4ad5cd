package idworker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// TestOrderHoldsForEveryCaller: if one call returns before another begins, its
// ID is smaller; also while the number is stolen again and again.
func TestOrderHoldsForEveryCaller(t *testing.T) {
	s := newStore(8)
	s.any = rand.New(rand.NewPCG(1, 1)) // numbers go up and down
	w := open(t, s, idworker.Options{})
	ran := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ran <- w.Run(ctx) }()

	var all []idworker.ID
	numbers := make(map[int64]bool)
	for len(numbers) < 2 && !t.Failed() { // a second, and longer where the machine is too busy for the thief
		over := time.Now().Add(time.Second)
		go thief(s, over)
		all = append(all, crowd(t, 8, over, func(int) func() ([]idworker.ID, error) {
			return func() ([]idworker.ID, error) { return single(w.Next(t.Context())) }
		})...)
		for _, id := range all {
			numbers[idworker.Default().Decompose(id).Worker] = true
		}
	}
	cancel()
	if err := <-ran; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	t.Logf("%d IDs under %d numbers", len(all), len(numbers))
	noneTwice(t, all)
}

// TestCloseWhileMintingHandsBackNothingMinted opens and closes workers of one
// number while others mint from them.
func TestCloseWhileMintingHandsBackNothingMinted(t *testing.T) {
	s := newStore(1)
	var (
		mu  sync.Mutex
		all []idworker.ID
	)
	for life := range 100 {
		w := open(t, s, idworker.Options{})
		var wg sync.WaitGroup
		var minted atomic.Int64
		for range 4 {
			wg.Go(func() {
				var ids []idworker.ID
				for {
					id, err := w.Next(t.Context())
					if errors.Is(err, idworker.ErrClosed) {
						break
					}
					if err != nil {
						t.Errorf("life %d: %v", life, err)
						break
					}
					ids = append(ids, id)
					minted.Add(1)
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, ids...)
			})
		}
		for minted.Load() < 500 && !t.Failed() {
			runtime.Gosched() // the minting callers decide when
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
	noneTwice(t, all)
}

func BenchmarkNext(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { benchNext(b, bench(b), callers) })
	}
}

func benchNext(b *testing.B, w interface {
	Next(context.Context) (idworker.ID, error)
}, callers int) {
	ctx := b.Context()
	b.ReportAllocs()
	if callers == 1 {
		for b.Loop() {
			if _, err := w.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := w.Next(ctx); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkNextBurst is what a call costs while there is room in the tick.
func BenchmarkNextBurst(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { benchNext(b, roomy(b), callers) })
	}
}

// BenchmarkNextUncapped does not look at the clock.
func BenchmarkNextUncapped(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			benchNext(b, open(b, newStore(1), idworker.Options{Clock: idworker.ClockIgnore}), callers)
		})
	}
}

// roomy is a Worker whose milliseconds never fill up.
func roomy(b *testing.B) *idworker.Worker {
	l := idworker.Default()
	l.WorkerBits, l.SequenceBits = 0, 22
	return open(b, newStore(1), idworker.Options{Layout: l})
}

func BenchmarkNextAfter(b *testing.B) {
	w := bench(b)
	ctx := b.Context()
	var floor idworker.ID
	b.ReportAllocs()
	for b.Loop() {
		id, err := w.NextAfter(ctx, floor)
		if err != nil {
			b.Fatal(err)
		}
		floor = id
	}
}

func BenchmarkParseID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := idworker.ParseID("1563871234567890123"); err != nil {
			b.Fatal(err)
		}
	}
}

func bench(b *testing.B) *idworker.Worker {
	w := open(b, newStore(1), idworker.Options{})
	go func() { _ = w.Run(b.Context()) }()
	return w
}

// TestBenchmarksRun runs each once: one that was not run for a while may no
// longer start.
func TestBenchmarksRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), self, "-test.run=^$", "-test.bench=.", "-test.benchtime=1x").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
