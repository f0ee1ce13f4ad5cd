package idworker

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A failing seed is repeated with -random.
var randomSeed = flag.Uint64("random", 0, "the seed of tests with random values; 0 means one of the moment")

// A Source draws random values. The ends of a range, where mistakes are, come often.
type Source struct{ *rand.Rand }

// Randomly runs a test with many sources, until one fails.
func Randomly(t *testing.T, test func(t *testing.T, s Source)) {
	t.Helper()
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	defer func() {
		if t.Failed() {
			t.Logf("go test -random %d repeats this", seed)
		}
	}()
	for i := uint64(0); i < 1000 && !t.Failed(); i++ {
		test(t, Source{rand.New(rand.NewPCG(seed, i))})
	}
}

// Between is a number from least to most.
func (s Source) Between(least, most int64) int64 {
	switch s.IntN(8) {
	case 0:
		return least
	case 1:
		return most
	}
	if n := uint64(most-least) + 1; n != 0 {
		return least + int64(s.Uint64N(n))
	}
	return int64(s.Uint64())
}

// Bits is as Between.
func (s Source) Bits(least, most uint8) uint8 { return uint8(s.Between(int64(least), int64(most))) }

// ID is any.
func (s Source) ID() ID { return ID(s.Between(1, math.MaxInt64)) }

// Layout is one whose bits add up to 63 and that ends at an instant that can be
// represented.
func (s Source) Layout() Layout {
	for {
		var l Layout
		l.TimeBits = s.Bits(1, 63)
		l.DatacenterBits = s.Bits(0, 63-l.TimeBits)
		l.WorkerBits = s.Bits(0, 63-l.TimeBits-l.DatacenterBits)
		l.SequenceBits = 63 - l.TimeBits - l.DatacenterBits - l.WorkerBits
		l.Unit = time.Duration(s.Between(1, 100_000)) * time.Millisecond
		l.Epoch = time.UnixMilli(s.Between(-1<<42, 1<<43))
		l.WorkerLast = s.IntN(2) == 0
		if l.Validate() == nil {
			return l
		}
	}
}
