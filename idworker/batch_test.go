package idworker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

func TestNextNFillsInOrderWithinTheLead(t *testing.T) {
	for name, l := range map[string]idworker.Layout{
		"default": twentieth(), "sonyflake": layoutNow(idworker.Sonyflake()), "baidu": layoutNow(idworker.Baidu()),
		"no sequence": layoutNow(idworker.Layout{Unit: time.Millisecond, TimeBits: 50, WorkerBits: 13}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := open(t, newStore(3), idworker.Options{Layout: l})
				var last idworker.ID
				sizes := []int{0, 1, 2, 64, 2047, 2048, 2049, 5000, 20_000, 1}
				if l.Unit == time.Millisecond && l.SequenceBits > 0 { // past the lead
					sizes = append(sizes, 50_000, 3001, 3001, 3001, 3001)
				}
				for _, size := range sizes {
					dst := make([]idworker.ID, size)
					if n, err := w.NextN(t.Context(), dst); n != size || err != nil {
						t.Fatalf("%d: %d, %v", size, n, err)
					}
					for _, id := range dst {
						if id <= last {
							t.Fatalf("%d after %d", id, last)
						}
						if p := l.Decompose(id); p.Time.After(time.Now().Add(idworker.Lead)) || p.Worker != 0 {
							t.Fatalf("at %v: %+v", time.Now(), p)
						}
						last = id
					}
				}
			})
		})
	}
}

// layoutNow is l with an epoch that a bubble's clock has passed.
func layoutNow(l idworker.Layout) idworker.Layout {
	l.Epoch = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	return l
}

func TestNextNSaysHowManyAreGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		w := open(t, s, idworker.Options{Layout: twentieth()})
		next(t, w)
		s.fail(errStore)
		dst := make([]idworker.ID, 1_000_000) // the first range holds 100 ms
		n, err := w.NextN(t.Context(), dst)
		if !errors.Is(err, idworker.ErrNoGrant) || !errors.Is(err, errStore) {
			t.Errorf("got %v", err)
		}
		if n < 390_000 || n > 410_000 {
			t.Errorf("filled %d of a range of 409600", n)
		}
		noneTwice(t, dst[:n])
		if dst[0] == 0 || dst[n] != 0 {
			t.Errorf("dst is not what n says: %d, %d", dst[0], dst[n])
		}
		if got := w.Stats().Minted; got != uint64(n)+1 {
			t.Errorf("%d minted by the count, and %d by hand", got, n+1)
		}
	})
}

// TestNextNAndNextTakeNothingTwice while the number is stolen again and again.
func TestNextNAndNextTakeNothingTwice(t *testing.T) {
	s := newStore(8)
	s.any = rand.New(rand.NewPCG(2, 2))
	w := open(t, s, idworker.Options{})
	over := time.Now().Add(time.Second / 2)
	go thief(s, over)
	all := crowd(t, 8, over, func(n int) func() ([]idworker.ID, error) {
		buf := make([]idworker.ID, 1+n/2*300)
		return func() ([]idworker.ID, error) {
			if _, err := w.NextN(t.Context(), buf); err != nil {
				return nil, err
			}
			id, err := w.Next(t.Context())
			return append(slices.Clone(buf), id), err
		}
	})
	noneTwice(t, all)
	if got := w.Stats().Minted; got != uint64(len(all)) {
		t.Errorf("%d minted by the count, and %d by hand", got, len(all))
	}
}

func TestNextNAllocatesNothing(t *testing.T) {
	w := open(t, newStore(1), idworker.Options{})
	ctx := t.Context()
	dst := make([]idworker.ID, 64)
	if n := testing.AllocsPerRun(500, func() { _, _ = w.NextN(ctx, dst) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkNextN is per ID, with room: 22 bits of sequence.
func BenchmarkNextN(b *testing.B) {
	for _, size := range []int{16, 64, 256} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := roomy(b)
			dst := make([]idworker.ID, size)
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.NextN(ctx, dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/ID")
		})
	}
}
