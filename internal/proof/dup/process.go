//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// process lives one life after the other until ctx ends. Everything that a life
// wrote down is in the ledger before the next one begins, so the disk holds one
// journal for each process.
func (r *row) process(ctx context.Context, i int, parent string, goal uint64) error {
	dir := filepath.Join(parent, fmt.Sprintf("process-%d", i))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	o := r.store
	o.Clock = filepath.Join(dir, "clock")
	c, err := openClock(o.Clock)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Munmap(c.mem) }()
	if i < 2 && r.kind.shared { // by mistake
		number := 7
		o.Number = &number
	}
	for refused := false; ctx.Err() == nil; {
		o.Journal = filepath.Join(parent, "journal", fmt.Sprintf("%d-", i))
		c.set(r.era.draw(refused))
		o := o.anyhow()
		p := &server.Process{Path: program, Args: []string{mintCommand, o.String()}, Dir: dir}
		if err := p.Start(); err != nil {
			return err
		}
		r.lives.Add(1)
		if err := r.live(ctx, p, c); err != nil {
			return errors.Join(err, p.Stop())
		}
		if err := collect(o.Journal, r.ids.Add); err != nil {
			return err
		}
		switch p.ExitCode() {
		case endBroken:
			return fmt.Errorf("%w\n%s", errBroken, p.LogTail())
		case endRefused:
			r.refused.Add(1)
			refused = true
		case endStore: // it is being restarted
			r.storeless.Add(1)
			pause(ctx, 300*time.Millisecond)
		default:
			refused = false
		}
		if goal > 0 && r.ids.Count() >= goal && (r.kind.fenced || r.shown()) {
			r.over(errGoal)
		}
	}
	return nil
}

// shown reports whether an ID was minted twice.
func (r *row) shown() bool {
	result, err := r.ids.Twice()
	return err == nil && result.Twice > 0
}

// anyhow is the order with the choices that a life may have.
func (o order) anyhow() order {
	o.Policy = []idworker.ClockPolicy{
		idworker.ClockSteady, idworker.ClockSteady, idworker.ClockSteady, idworker.ClockRefuse, idworker.ClockWait, idworker.ClockIgnore,
	}[rand.IntN(6)]
	if o.Number != nil && o.Policy == idworker.ClockIgnore {
		o.Policy = idworker.ClockSteady // or the number would be years ahead, and lost to the others
	}
	o.Start = idworker.SequenceStart(rand.IntN(4))
	o.Window = []time.Duration{0, 200 * time.Millisecond, time.Second}[rand.IntN(3)]
	o.Steady = rand.IntN(2) == 0
	o.Callers = 1 + rand.IntN(4)
	o.Batch = []int{0, 0, 64, 1000}[rand.IntN(4)]
	return o
}

// live lets a process mint for a while, and ends it.
func (r *row) live(ctx context.Context, p *server.Process, c clock) error {
	over := time.Now().Add(50*time.Millisecond + rand.N(2*time.Second))
	for ctx.Err() == nil && p.Running() && time.Now().Before(over) {
		pause(ctx, rand.N(200*time.Millisecond))
		switch rand.IntN(10) {
		case 0, 1, 2, 3:
			c.set(r.era.draw(false))
			r.steps.Add(1)
		case 4:
			if err := r.stop(ctx, p); err != nil {
				return err
			}
		}
	}
	if rand.IntN(5) == 0 {
		return p.Stop()
	}
	if err := p.Kill(); !errors.Is(err, server.ErrNotRunning) {
		r.kills.Add(1)
		return err
	}
	return nil
}

// stop stops a process, usually for longer than its lender is patient. It may be
// killed before it goes on.
func (r *row) stop(ctx context.Context, p *server.Process) error {
	if err := p.Pause(); err != nil {
		return ended(p, err)
	}
	r.stops.Add(1)
	pause(ctx, patience/2+rand.N(4*patience))
	if rand.IntN(4) == 0 {
		return nil
	}
	return ended(p, p.Resume())
}

// ended is no error: the process has ended by itself, perhaps only just.
func ended(p *server.Process, err error) error {
	if errors.Is(err, server.ErrNotRunning) {
		return nil
	}
	for range 100 {
		if err == nil || !p.Running() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
