//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// openWithin bounds the opening of a worker: a server that is being restarted
// answers no request.
const openWithin = 3 * time.Second

// mint is a whole process: it mints until it is killed, and returns how it ended
// otherwise.
func mint(text string) int {
	o, err := parseOrder(text)
	if err == nil {
		err = o.mint()
	}
	switch {
	case err == nil, errors.Is(err, errFull), errors.Is(err, idworker.ErrClosed):
		return endFull
	case errors.Is(err, errBroken):
		fmt.Fprintln(os.Stderr, err)
		return endBroken
	case errors.Is(err, idworker.ErrTooFarAhead):
		return endRefused
	}
	fmt.Fprintln(os.Stderr, err)
	return endStore
}

var errBroken = errors.New("a promise is broken")

func (o order) mint() error {
	c, err := openClock(o.Clock)
	if err != nil {
		return err
	}
	j, err := newJournal(o.Journal)
	if err != nil {
		return err
	}
	now := c.now
	if o.Steady {
		start, off := time.Now(), c.off()
		now = func() time.Time { return start.Add(off + time.Since(start)) }
	}
	k, err := kindOf(o.Kind)
	if err != nil {
		return err
	}
	lender, err := k.open(o, now)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	patience, cancel := context.WithTimeout(ctx, openWithin)
	w, err := idworker.Open(patience, lender, idworker.Options{
		Window: o.Window, Clock: o.Policy, Start: o.Start, Now: now, Wall: c.now,
	})
	cancel()
	if err != nil {
		return err
	}
	go func() { _ = w.Run(ctx) }() // the callers learn of a range that is not extended
	ended := make(chan error, o.Callers)
	var wg sync.WaitGroup
	for range o.Callers {
		wg.Go(func() { ended <- o.call(w, j) })
	}
	var first error
	select {
	case first = <-ended: // a promise is broken, or the journal is full
	case <-ctx.Done():
	}
	// Others mint on while the worker closes: that is the hard case.
	patience, cancel = context.WithTimeout(context.WithoutCancel(ctx), openWithin)
	defer cancel()
	_ = w.Close(patience) // handed back or not
	wg.Wait()
	close(ended)
	for err := range ended {
		if errors.Is(err, errBroken) {
			first = err
		}
	}
	return first
}

// call mints as one caller does, in order, until the worker is closed or the
// journal is full.
func (o order) call(w *idworker.Worker, j *journal) error {
	var last idworker.ID
	ids := make([]idworker.ID, max(1, o.Batch))
	for {
		n, err := 1, error(nil)
		if o.Batch > 0 {
			n, err = w.NextN(context.Background(), ids)
		} else if ids[0], err = w.Next(context.Background()); err != nil {
			n = 0
		}
		for _, id := range ids[:n] {
			if err := j.note(id); err != nil {
				return err
			}
			if id <= last {
				return fmt.Errorf("%w: %d after %d", errBroken, id, last)
			}
			last = id
		}
		switch {
		case err == nil:
		case errors.Is(err, idworker.ErrClosed):
			return err
		case !tolerable(err):
			return fmt.Errorf("%w: unexpected error %w", errBroken, err)
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

// tolerable errors come of a clock that was set back, or a store that is down.
func tolerable(err error) bool {
	return errors.Is(err, idworker.ErrTooFarAhead) || errors.Is(err, idworker.ErrClockBehind) || errors.Is(err, idworker.ErrNoGrant)
}
