package bench

import (
	"bufio"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// BenchmarkRedis compares the check of a token that Redis answers, in one process and
// without HTTP, with an auto-pipelined GET of a value of the same length: by as many
// callers as a busy server has, and by one.
func BenchmarkRedis(b *testing.B) {
	const bound = 5 * time.Minute
	key := make([]byte, 32)
	shared := testenv.Redis(b)
	file := strangers(b, shared.Addr, key, bound, testenv.Brief(20_000, 1000))
	var texts []string
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		texts = append(texts, lines.Text())
	}
	rdb := redisstore.Open(redisstore.Server{Addrs: []string{shared.Addr}})
	defer rdb.Close()
	behind := &ledger{sessions: make(map[idworker.ID]session.Session)}
	far, err := redisstore.NewSessions(rdb, behind, redisstore.Options{Key: key, Bound: bound})
	if err != nil {
		b.Fatal(err)
	}
	near, err := memstore.NewSessions(far, memstore.Options{Entries: 100, Bound: bound})
	if err != nil {
		b.Fatal(err)
	}
	defer near.Close()
	service := &session.Service{Store: near, Rows: behind, Policy: policy.Fixed(hourly())}
	batch, err := redisstore.Open(redisstore.Server{Addrs: []string{shared.Addr}}).AutoPipeline()
	if err != nil {
		b.Fatal(err)
	}
	ours := func(i int) {
		if _, err := check(service, texts[i%len(texts)]); err != nil {
			b.Error(err)
		}
	}
	base := func(i int) {
		if _, err := batch.Get(b.Context(), bareKey(texts[i%len(texts)])).Bytes(); err != nil {
			b.Error(err)
		}
	}
	for name, callers := range map[string]int{"many": connections, "alone": 1} {
		b.Run(name, func(b *testing.B) {
			c := compare(b, checkRounds, crowd(b, callers, ours), crowd(b, callers, base))
			report(b, c.faster(), "rate-ratio")
			report(b, c.dearer(), "cpu-ratio")
			b.ReportMetric(each(c.ours, sample.cost).median, "ours-ns")
			b.ReportMetric(each(c.base, sample.cost).median, "base-ns")
			b.Logf("rate %s, CPU %s", c.faster(), c.dearer())
		})
	}
}

// crowd returns a side on which that many goroutines call op for a while.
func crowd(b *testing.B, callers int, op func(i int)) func() sample {
	b.Helper()
	chunk := testenv.Brief(200*time.Millisecond, time.Millisecond)
	var next atomic.Int64
	return func() sample {
		runtime.GC()
		first, cpu, start := next.Load(), ownCPU(b), time.Now()
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for one := true; one || time.Since(start) < chunk; one = false {
					op(int(next.Add(1)))
				}
			})
		}
		all.Wait()
		return sample{ops: int(next.Load() - first), wall: time.Since(start), cpu: ownCPU(b) - cpu}
	}
}
