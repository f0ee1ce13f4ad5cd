package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// times say how long one cell is measured. In warm a generator uses up what it
// may mint in advance; in run IDs and CPU time are counted; in look single calls
// are timed, which would slow down the rest.
type times struct{ warm, run, look time.Duration }

// A cell is what one generator did with so many goroutines in one round.
type cell struct {
	rate   float64 // IDs per second
	cpu    float64 // nanoseconds of CPU time per ID
	allocs float64 // per 1,000 IDs

	p50, p99, p999 float64 // nanoseconds of a call, the reading of a clock included

	// How far the times in the IDs were ahead of the wall clock when the call
	// had returned, in milliseconds. Not a number if IDs carry no time.
	leadMid, leadMax float64
}

const (
	running int32 = iota
	looking
	stopped
)

// A load is goroutines that call a source as fast as it lets them.
type load struct {
	g       generator
	s       source
	phase   atomic.Int32
	callers []caller
	wg      sync.WaitGroup
}

// A caller is what one goroutine has seen. It has cache lines of its own.
type caller struct {
	ids   atomic.Uint64
	took  []float64
	leads []float64
	err   error
	_     [128]byte
}

// mostSamples bounds the memory of all callers of a cell.
const mostSamples = 1 << 17

func measure(g generator, goroutines int, t times) (c cell, err error) {
	runtime.GC() // the samples of the cell before
	s, err := g.open()
	if err != nil {
		return c, fmt.Errorf("%s: %w", g.name, err)
	}
	defer func() {
		if e := s.close(); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", g.name, e))
		}
	}()
	l := &load{g: g, s: s, callers: make([]caller, goroutines)}
	for i := range l.callers {
		if t.look > 0 {
			l.callers[i].took = make([]float64, 0, mostSamples/goroutines)
			l.callers[i].leads = make([]float64, 0, mostSamples/goroutines)
		}
		l.wg.Go(func() { l.callers[i].err = l.work(&l.callers[i]) })
	}
	time.Sleep(t.warm)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	at, cpu, ids := time.Now(), cpuTime(), l.ids()
	time.Sleep(t.run)
	ids, cpu = l.ids()-ids, cpuTime()-cpu
	wall := time.Since(at)
	runtime.ReadMemStats(&after)
	l.phase.Store(looking)
	time.Sleep(t.look)
	l.phase.Store(stopped)
	l.wg.Wait()

	c = cell{
		rate: float64(ids) / wall.Seconds(), cpu: float64(cpu) / float64(ids),
		allocs: 1000 * float64(after.Mallocs-before.Mallocs) / float64(ids),
	}
	var took, leads []float64
	for i := range l.callers {
		if err := l.callers[i].err; err != nil {
			return c, fmt.Errorf("%s: %w", g.name, err)
		}
		took, leads = append(took, l.callers[i].took...), append(leads, l.callers[i].leads...)
	}
	slices.Sort(took)
	slices.Sort(leads)
	c.p50, c.p99, c.p999 = quantile(took, .5), quantile(took, .99), quantile(took, .999)
	c.leadMid, c.leadMax = quantile(leads, .5), quantile(leads, 1)
	return c, nil
}

func (l *load) ids() (n uint64) {
	for i := range l.callers {
		n += l.callers[i].ids.Load()
	}
	return n
}

// work mints until it has to stop.
func (l *load) work(c *caller) error {
	mint := l.s.caller()
	stride, per := l.g.stride(), l.g.perCall()
	var n uint64
	out := make([]id, 1)
	for {
		phase := l.phase.Load()
		if phase == stopped {
			return nil
		}
		for range stride - 1 {
			if err := mint(nil); err != nil {
				return err
			}
		}
		if phase == running || len(c.took) == cap(c.took) {
			if err := mint(nil); err != nil {
				return err
			}
		} else {
			begin := time.Now()
			err := mint(out)
			end := time.Now()
			if err != nil {
				return err
			}
			c.took = append(c.took, float64(end.Sub(begin)))
			if l.s.milli != nil {
				c.leads = append(c.leads, float64(l.s.milli(out[0])-end.UnixMilli()))
			}
		}
		n += uint64(stride * per)
		c.ids.Store(n)
	}
}

// quantile is the value that the part q of the sorted values does not exceed.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
