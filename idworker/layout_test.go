package idworker_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

func baidu() idworker.Layout {
	return idworker.Layout{
		Epoch: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Unit: time.Second,
		TimeBits: 28, WorkerBits: 22, SequenceBits: 13,
	}
}

func twitter() idworker.Layout {
	return idworker.Layout{
		Epoch: time.UnixMilli(1288834974657), Unit: time.Millisecond,
		TimeBits: 41, DatacenterBits: 5, WorkerBits: 5, SequenceBits: 12,
	}
}

func tenMillis() idworker.Layout {
	return idworker.Layout{
		Epoch: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), Unit: 10 * time.Millisecond,
		TimeBits: 39, WorkerBits: 16, SequenceBits: 8,
	}
}

func FuzzLayoutTakesApartAndPutsTogether(f *testing.F) {
	f.Add(int64(1), uint8(0), uint8(41), uint8(5), uint8(5), false)
	f.Add(int64(math.MaxInt64), uint8(1), uint8(28), uint8(0), uint8(22), false)
	f.Add(int64(1)<<62, uint8(2), uint8(39), uint8(0), uint8(16), true)
	f.Fuzz(func(t *testing.T, n int64, unit, timeBits, dc, worker uint8, last bool) {
		l := idworker.Layout{
			Epoch:    time.UnixMilli(1420041600000),
			Unit:     []time.Duration{time.Millisecond, time.Second, 10 * time.Millisecond}[unit%3],
			TimeBits: timeBits % 64, DatacenterBits: dc % 64, WorkerBits: worker % 64, WorkerLast: last,
		}
		l.SequenceBits = 63 - l.TimeBits - l.DatacenterBits - l.WorkerBits
		id := idworker.ID(n & math.MaxInt64)
		if l.Validate() != nil || id == 0 {
			return
		}
		p := l.Decompose(id)
		if back, err := l.Compose(p); err != nil || back != id {
			t.Fatalf("%+v: %d is %+v, which is %d, %v", l, id, p, back, err)
		}
		if !l.Time(id).Equal(p.Time) || l.Time(id).UnixMilli() != l.UnixMilli(id) {
			t.Errorf("%d: Time %v, UnixMilli %d, Decompose %v", id, l.Time(id), l.UnixMilli(id), p.Time)
		}
		least := l.Smallest(p.Time)
		if least > id || !l.Time(least).Equal(p.Time) {
			t.Errorf("smallest ID of %v is %d, and %d carries it too", p.Time, least, id)
		}
		if least > 0 && !l.Time(least-1).Before(p.Time) {
			t.Errorf("%d is before the smallest ID of %v and carries %v", least-1, p.Time, l.Time(least-1))
		}
	})
}

func TestSmallestIsClamped(t *testing.T) {
	for _, l := range []idworker.Layout{idworker.Default(), baidu(), twitter(), tenMillis()} {
		for _, test := range []struct {
			at   time.Time
			want idworker.ID
		}{
			{time.Time{}, 0},
			{l.Epoch.Add(-1), 0},
			{l.Epoch, 0},
			{l.Overflow(), math.MaxInt64},
			{time.Date(200000, 1, 1, 0, 0, 0, 0, time.UTC), math.MaxInt64},
		} {
			if got := l.Smallest(test.at); got != test.want {
				t.Errorf("smallest ID of %v is %d, want %d", test.at, got, test.want)
			}
		}
		last := l.Overflow().Add(-time.Nanosecond)
		if got := l.Smallest(last); got <= 0 || got == math.MaxInt64 || !l.Overflow().Equal(l.Time(got).Add(l.Unit)) {
			t.Errorf("smallest ID of %v is %d, of %v", last, got, l.Time(got))
		}
	}
}

func TestOverflow(t *testing.T) {
	if got, want := idworker.Default().Overflow(), time.UnixMilli(1420041600000+1<<41); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := baidu().Overflow(), time.Date(2026, 1, 1, 0, 0, 1<<28, 0, time.UTC); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestComposeRefusesWhatDoesNotFit(t *testing.T) {
	l := twitter()
	good := idworker.Parts{Time: l.Epoch.Add(time.Hour), Datacenter: 31, Worker: 31, Sequence: 4095}
	if _, err := l.Compose(good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*idworker.Parts){
		"early":      func(p *idworker.Parts) { p.Time = l.Epoch.Add(-1) },
		"late":       func(p *idworker.Parts) { p.Time = l.Overflow() },
		"datacenter": func(p *idworker.Parts) { p.Datacenter = 32 },
		"worker":     func(p *idworker.Parts) { p.Worker = -1 },
		"sequence":   func(p *idworker.Parts) { p.Sequence = 4096 },
		"nothing":    func(p *idworker.Parts) { *p = idworker.Parts{Time: l.Epoch} },
	} {
		p := good
		spoil(&p)
		if id, err := l.Compose(p); !errors.Is(err, idworker.ErrLayout) {
			t.Errorf("%s: got %d, %v", name, id, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, l := range []idworker.Layout{idworker.Default(), baidu(), twitter(), tenMillis()} {
		if err := l.Validate(); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
	for name, spoil := range map[string]func(*idworker.Layout){
		"too many bits":      func(l *idworker.Layout) { l.WorkerBits++ },
		"too few bits":       func(l *idworker.Layout) { l.SequenceBits-- },
		"bits that wrap":     func(l *idworker.Layout) { l.TimeBits, l.WorkerBits, l.SequenceBits = 255, 32, 32 },
		"no time":            func(l *idworker.Layout) { l.TimeBits, l.WorkerBits = 0, 51 },
		"no unit":            func(l *idworker.Layout) { l.Unit = 0 },
		"negative unit":      func(l *idworker.Layout) { l.Unit = -time.Second },
		"odd unit":           func(l *idworker.Layout) { l.Unit = 1500 * time.Microsecond },
		"odd epoch":          func(l *idworker.Layout) { l.Epoch = l.Epoch.Add(1) },
		"longer than can be": func(l *idworker.Layout) { l.TimeBits, l.WorkerBits, l.SequenceBits = 63, 0, 0 },
		"begins too early":   func(l *idworker.Layout) { l.Epoch = time.UnixMilli(math.MinInt64) },
	} {
		l := idworker.Default()
		spoil(&l)
		if err := l.Validate(); !errors.Is(err, idworker.ErrLayout) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
