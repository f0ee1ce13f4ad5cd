package ledger_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/proof/dup/ledger"
)

// TestFindsWhatAMapFinds: any IDs in any batches, of any layout, with files that
// hold a few runs each.
func TestFindsWhatAMapFinds(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		l := idworker.Layout{
			Epoch: time.UnixMilli(0), Unit: time.Millisecond, WorkerLast: rapid.Bool().Draw(t, "worker last"),
			DatacenterBits: rapid.Uint8Range(0, 3).Draw(t, "datacenter"), WorkerBits: rapid.Uint8Range(0, 10).Draw(t, "worker"),
			SequenceBits: rapid.Uint8Range(0, 12).Draw(t, "sequence"),
		}
		l.TimeBits = 63 - l.DatacenterBits - l.WorkerBits - l.SequenceBits
		scratch, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		kept := &ledger.Ledger{Layout: l, Dir: scratch, Limit: rapid.IntRange(1, 50).Draw(t, "limit")}
		seen := make(map[idworker.ID]bool)
		var want ledger.Result
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			base := rapid.Int64Range(1, 1<<62).Draw(t, "base")
			wide := rapid.SampledFrom([]int64{10, 300, 1 << 60}).Draw(t, "wide")
			var ids []idworker.ID
			for range rapid.IntRange(0, 200).Draw(t, "size") {
				id := idworker.ID(base + rapid.Int64Range(0, wide).Draw(t, "id"))
				if seen[id] {
					want.Twice++
				}
				seen[id] = true
				want.IDs++
				ids = append(ids, id)
			}
			if err := kept.Add(ids); err != nil {
				t.Fatal(err)
			}
		}
		got, err := kept.Twice()
		if err != nil || got.IDs != want.IDs || got.Twice != want.Twice || kept.Count() != want.IDs {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
		for _, id := range got.Examples {
			if !seen[id] {
				t.Errorf("%d was never added", id)
			}
		}
	})
}

// TestFindsOnePlantedAmongMillions of what workers mint: dense, and in pieces.
func TestFindsOnePlantedAmongMillions(t *testing.T) {
	l := idworker.Default()
	r := rand.New(rand.NewPCG(1, 1))
	var all [][]idworker.ID
	for worker := range int64(4) {
		at := l.Epoch.Add(10 * 365 * 24 * time.Hour)
		for range 8 { // lives
			var ids []idworker.ID
			for range 20 {
				at = at.Add(time.Millisecond)
				for seq := r.Int64N(2048); seq < 4096; seq++ {
					id, err := l.Compose(idworker.Parts{Time: at, Worker: worker, Sequence: seq})
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, id)
				}
			}
			all = append(all, ids)
		}
	}
	planted := all[17][12345]
	for _, plant := range []bool{false, true} {
		kept := &ledger.Ledger{Layout: l, Dir: t.TempDir(), Limit: 100}
		for _, i := range r.Perm(len(all)) {
			if err := kept.Add(slices.Clone(all[i])); err != nil {
				t.Fatal(err)
			}
		}
		if plant {
			if err := kept.Add([]idworker.ID{planted}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := kept.Twice()
		if err != nil || plant != (got.Twice == 1) || plant && got.Examples[0] != planted {
			t.Errorf("planted %v: %+v, %v, want %d", plant, got, err, planted)
		}
		t.Logf("%d IDs, %d twice", got.IDs, got.Twice)
	}
}
