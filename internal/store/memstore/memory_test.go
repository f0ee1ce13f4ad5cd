package memstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

// many answers as a database does: each session with texts of its own.
type many struct{ fake }

func (*many) Get(_ context.Context, id idworker.ID, shown session.Hash) (session.Session, error) {
	s := alive(id)
	s.UserID, s.Username, s.Role = id+1, fmt.Sprintf("user%08d", id), string([]byte("user"))
	s.Hash = shown
	return s, nil
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what the first has found to be free
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// bytesEach is what each of n sessions takes of the heap, with its name of 12 letters and all
// that the cache library keeps of it.
func bytesEach(t testing.TB, n int) float64 {
	t.Helper()
	before := heap()
	tier, err := memstore.NewSessions(&many{}, memstore.Options{Entries: n, Bound: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer tier.Close()
	for i := range n {
		var shown session.Hash
		binary.BigEndian.PutUint64(shown[1:], uint64(i+1))
		if _, err := tier.Get(t.Context(), idworker.ID(i+1), shown); err != nil {
			t.Fatal(err)
		}
	}
	each := (float64(heap()) - float64(before)) / float64(n)
	if held := tier.Size(); held < n {
		t.Errorf("%d sessions of %d are held", held, n)
	}
	return each
}

// TestSessionsTakeLittleMemory: 218 bytes were measured of a million, and of as many as here.
func TestSessionsTakeLittleMemory(t *testing.T) {
	if each := bytesEach(t, 1e5); each > 240 {
		t.Errorf("a cached session takes %.0f bytes of the heap, want 240 at most", each)
	}
}

// BenchmarkMemory reports the bytes of a session among as many as it has iterations:
// run it with -benchtime 1000000x.
func BenchmarkMemory(b *testing.B) { b.ReportMetric(bytesEach(b, b.N), "B/session") }

func TestBenchmarksRun(t *testing.T) { testenv.Benchmarks(t) }
