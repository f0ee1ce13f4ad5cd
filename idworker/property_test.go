package idworker_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

func TestEveryLayoutTakesApartWhatItPutTogether(t *testing.T) {
	idworker.Randomly(t, func(t *testing.T, s idworker.Source) {
		l, id := s.Layout(), s.ID()
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
	idworker.Randomly(t, func(t *testing.T, s idworker.Source) {
		l := s.Layout()
		a, b := s.ID(), s.ID()
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
	idworker.Randomly(t, func(t *testing.T, s idworker.Source) {
		l, id := s.Layout(), s.ID()
		// Any instant inside the unit.
		at := l.Time(id).Add(time.Duration(s.Between(0, int64(l.Unit)-1)))
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
	idworker.Randomly(t, func(t *testing.T, s idworker.Source) {
		l, id := s.Layout(), s.ID()
		p := l.Decompose(id)
		beyond := s.Between(0, 1000)
		out := func(bits uint8) int64 {
			if s.IntN(2) == 0 || bits > 62 {
				return -1 - beyond
			}
			return 1<<bits + beyond
		}
		switch s.IntN(5) {
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
	idworker.Randomly(t, func(t *testing.T, s idworker.Source) {
		id := idworker.ID(s.Between(1, math.MaxInt64))
		if back, err := idworker.ParseID(id.String()); err != nil || back != id {
			t.Errorf("%s reads as %d, %v", id, back, err)
		}
	})
}
