package bench

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A sample is what one side did in one round.
type sample struct {
	ops  int
	wall time.Duration
	cpu  time.Duration // of the process that did it
	p99  time.Duration // 99 of 100 operations took less; 0 where nobody looked
	p50  time.Duration // half of them did
}

func (s sample) rate() float64   { return float64(s.ops) / s.wall.Seconds() }             // operations per second
func (s sample) cost() float64   { return float64(s.cpu.Nanoseconds()) / float64(s.ops) } // CPU ns per operation
func (s sample) tail() float64   { return float64(s.p99) }                                // ns
func (s sample) middle() float64 { return float64(s.p50) }

// A contest is the samples of all rounds; the two of a round stand at the same
// index.
type contest struct{ ours, base []sample }

// compare runs both sides in turn, for that many rounds. A benchmark's N
// repeats all of them, so -benchtime=3x means three times as many.
func compare(b *testing.B, rounds int, ours, base func() sample) contest {
	b.Helper()
	var c contest
	ours() // the first of each warms up, and does not count
	base()
	for b.Loop() {
		for range rounds {
			c.ours = append(c.ours, ours())
			c.base = append(c.base, base())
		}
	}
	b.ReportMetric(0, "ns/op") // how long the rounds took in all says nothing
	b.ReportMetric(float64(len(c.ours)), "rounds")
	return c
}

// A spread is a median and how far the rounds were from it.
type spread struct{ median, least, most float64 }

func (s spread) String() string { return fmt.Sprintf("%.2f (%.2f to %.2f)", s.median, s.least, s.most) }

func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return spread{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1]}
}

func each(samples []sample, value func(sample) float64) spread {
	var values []float64
	for _, s := range samples {
		values = append(values, value(s))
	}
	return spreadOf(values)
}

// ratio is taken within each round, whose two halves saw nearly the same
// neighbours.
func (c contest) ratio(of func(ours, base sample) float64) spread {
	var values []float64
	for i := range c.ours {
		values = append(values, of(c.ours[i], c.base[i]))
	}
	return spreadOf(values)
}

// cheaper is how many times less CPU ours takes for one operation.
func (c contest) cheaper() spread {
	return c.ratio(func(o, p sample) float64 { return p.cost() / o.cost() })
}

// dearer is how many times more CPU ours takes for one operation.
func (c contest) dearer() spread {
	return c.ratio(func(o, p sample) float64 { return o.cost() / p.cost() })
}

// faster is how many times more operations per second ours does.
func (c contest) faster() spread {
	return c.ratio(func(o, p sample) float64 { return o.rate() / p.rate() })
}

// later is how many times longer 99 of 100 operations of ours take at most.
func (c contest) later() spread {
	return c.ratio(func(o, p sample) float64 { return o.tail() / p.tail() })
}

// slower is how many times longer half of the operations of ours take at most.
func (c contest) slower() spread {
	return c.ratio(func(o, p sample) float64 { return o.middle() / p.middle() })
}

func report(b *testing.B, s spread, unit string) {
	b.Helper()
	b.ReportMetric(s.median, unit)
	b.ReportMetric(s.least, unit+"-min")
	b.ReportMetric(s.most, unit+"-max")
}

// spin returns a side that calls op in one goroutine for about 50 ms, with a
// number that grows from call to call.
func spin(b *testing.B, op func(i int)) func() sample {
	b.Helper()
	chunk := testenv.Brief(50*time.Millisecond, time.Millisecond)
	n, next := 1, 0
	run := func() sample {
		cpu, start := ownCPU(b), time.Now()
		for range n {
			op(next)
			next++
		}
		return sample{ops: n, wall: time.Since(start), cpu: ownCPU(b) - cpu}
	}
	for {
		s := run()
		if s.cpu >= chunk/2 {
			n = max(1, int(float64(n)*float64(chunk)/float64(s.cpu)))
			return run
		}
		n *= 2
	}
}

// ownCPU is the CPU time that this process has used, all threads together.
func ownCPU(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestRatioIsTakenWithinRounds(t *testing.T) {
	at := func(ms int) sample {
		d := time.Duration(ms) * time.Millisecond
		return sample{ops: 100, wall: d, cpu: 2 * d, p99: d}
	}
	// A neighbour that slows one round down by ten slows both of its halves.
	c := contest{ours: []sample{at(10), at(100), at(20)}, base: []sample{at(20), at(200), at(30)}}
	if got, want := c.faster().String(), "2.00 (1.50 to 2.00)"; got != want {
		t.Errorf("faster: got %s, want %s", got, want)
	}
	if got, want := c.cheaper(), c.faster(); got != want {
		t.Errorf("cheaper: got %s, want %s", got, want)
	}
	if got, want := c.dearer().String(), "0.50 (0.50 to 0.67)"; got != want {
		t.Errorf("dearer: got %s, want %s", got, want)
	}
	if got, want := c.later(), c.dearer(); got != want {
		t.Errorf("later: got %s, want %s", got, want)
	}
	if got, want := spreadOf([]float64{4, 1, 3, 2}), (spread{2.5, 1, 4}); got != want {
		t.Errorf("spread: got %v, want %v", got, want)
	}
	if got, want := at(10).rate(), 10_000.0; got != want {
		t.Errorf("rate: got %v, want %v", got, want)
	}
	if got, want := at(10).cost(), 200_000.0; got != want {
		t.Errorf("cost: got %v, want %v", got, want)
	}
}
