package idworker_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakepass/flakepass/idworker"
)

// anyValidLayout is every layout whose bits add up to 63 and that ends at an
// instant that can be told.
func anyValidLayout() *rapid.Generator[idworker.Layout] {
	return rapid.Custom(func(t *rapid.T) idworker.Layout {
		var l idworker.Layout
		l.TimeBits = rapid.Uint8Range(1, 63).Draw(t, "time bits")
		l.DatacenterBits = rapid.Uint8Range(0, 63-l.TimeBits).Draw(t, "datacenter bits")
		l.WorkerBits = rapid.Uint8Range(0, 63-l.TimeBits-l.DatacenterBits).Draw(t, "worker bits")
		l.SequenceBits = 63 - l.TimeBits - l.DatacenterBits - l.WorkerBits
		l.Unit = time.Duration(rapid.Int64Range(1, 100_000).Draw(t, "unit")) * time.Millisecond
		l.Epoch = time.UnixMilli(rapid.Int64Range(-1<<42, 1<<43).Draw(t, "epoch"))
		l.WorkerLast = rapid.Bool().Draw(t, "worker last")
		return l
	}).Filter(func(l idworker.Layout) bool { return l.Validate() == nil })
}

func anyID() *rapid.Generator[idworker.ID] {
	return rapid.Map(rapid.Int64Range(0, math.MaxInt64), func(n int64) idworker.ID { return idworker.ID(n) })
}

func TestEveryLayoutTakesApartWhatItPutTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, id := anyValidLayout().Draw(t, "layout"), anyID().Draw(t, "ID")
		p := l.Decompose(id)
		back, err := l.Compose(p)
		if err != nil || back != id {
			t.Fatalf("%d is %+v, which is %d, %v", id, p, back, err)
		}
		// From the parts, by the definition: nothing of the layout's own.
		number, node := p.Datacenter<<l.WorkerBits|p.Worker, l.DatacenterBits+l.WorkerBits
		tick := p.Time.Sub(l.Epoch).Milliseconds() / l.Unit.Milliseconds()
		if p.Time.Sub(l.Epoch) == math.MaxInt64 { // centuries
			tick = (p.Time.UnixMilli() - l.Epoch.UnixMilli()) / l.Unit.Milliseconds()
		}
		want := tick<<(63-l.TimeBits) | number<<l.SequenceBits | p.Sequence
		if l.WorkerLast {
			want = tick<<(63-l.TimeBits) | p.Sequence<<node | number
		}
		if int64(id) != want {
			t.Errorf("%+v is %d, and bit by bit %d", p, id, want)
		}
	})
}

func TestEveryLayoutKeepsTheOrderOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyValidLayout().Draw(t, "layout")
		a, b := anyID().Draw(t, "a"), anyID().Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		if l.Time(a).After(l.Time(b)) {
			t.Errorf("%d is of %v, and the larger %d of %v", a, l.Time(a), b, l.Time(b))
		}
		if l.Time(a).Before(l.Time(b)) != (a < l.Smallest(l.Time(b))) {
			t.Errorf("%d and the instant %v are in another order than %v", a, l.Time(b), l.Time(a))
		}
	})
}

func TestEveryLayoutKnowsTheSmallestIDOfAnInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, id := anyValidLayout().Draw(t, "layout"), anyID().Draw(t, "ID")
		// Any instant inside the unit.
		at := l.Time(id).Add(time.Duration(rapid.Int64Range(0, int64(l.Unit)-1).Draw(t, "into the unit")))
		least := l.Smallest(at)
		if p := l.Decompose(least); p.Datacenter != 0 || p.Worker != 0 || p.Sequence != 0 || !p.Time.Equal(l.Time(id)) {
			t.Fatalf("the smallest ID of %v is %+v", at, p)
		}
		if least > 0 && !l.Time(least-1).Before(l.Time(id)) {
			t.Errorf("%d is of %v already", least-1, l.Time(least-1))
		}
	})
}

func TestEveryLayoutRefusesWhatDoesNotFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, id := anyValidLayout().Draw(t, "layout"), anyID().Draw(t, "ID")
		p := l.Decompose(id)
		beyond := rapid.Int64Range(0, 1000).Draw(t, "beyond")
		out := func(bits uint8) int64 {
			if rapid.Bool().Draw(t, "negative") || bits > 62 {
				return -1 - beyond
			}
			return 1<<bits + beyond
		}
		switch rapid.IntRange(0, 4).Draw(t, "what") {
		case 0:
			p.Time = l.Overflow().Add(time.Duration(beyond))
		case 1:
			p.Time = l.Epoch.Add(-1 - time.Duration(beyond))
		case 2:
			p.Datacenter = out(l.DatacenterBits)
		case 3:
			p.Worker = out(l.WorkerBits)
		default:
			p.Sequence = out(l.SequenceBits)
		}
		if got, err := l.Compose(p); !errors.Is(err, idworker.ErrLayout) {
			t.Errorf("%+v is %d, %v", p, got, err)
		}
	})
}

func TestEveryIDReadsAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := idworker.ID(rapid.Int64Range(1, math.MaxInt64).Draw(t, "ID"))
		if back, err := idworker.ParseID(id.String()); err != nil || back != id {
			t.Errorf("%s reads as %d, %v", id, back, err)
		}
	})
}
