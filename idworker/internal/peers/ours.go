package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/fileworker"
)

// batch is how many IDs NextN mints at a time here.
const batch = 64

// Names that the targets look for.
const (
	oursRealTime = "flakepass"
	oursRoomyN   = "flakepass, 22 bits, NextN(64)"
	oursUncapped = "flakepass, ClockIgnore"
)

// ours mint from ranges with a durable fence in a file, and Run extends them.
func ours() []generator {
	return []generator{
		{name: oursRealTime, open: next(idworker.Options{})},
		{name: "flakepass, NextN(64)", per: batch, open: nextN(idworker.Options{})},
		{name: "flakepass, Ring", open: ring(idworker.Options{})},
		{name: oursUncapped, open: next(idworker.Options{Clock: idworker.ClockIgnore})},
		{name: "flakepass, Ring, ClockIgnore", open: ring(idworker.Options{Clock: idworker.ClockIgnore})},
	}
}

// roomyOurs is what a call costs while there is room.
func roomyOurs() []generator {
	l := idworker.Default()
	l.WorkerBits, l.SequenceBits = 0, 22
	return []generator{
		{name: "flakepass, 22 bits", open: next(idworker.Options{Layout: l})},
		{name: oursRoomyN, per: batch, open: nextN(idworker.Options{Layout: l})},
	}
}

func next(o idworker.Options) func() (source, error) {
	return func() (source, error) {
		w, s, err := openFile(o)
		if err != nil {
			return s, err
		}
		ctx := context.Background()
		s.caller = func() call {
			return func(out []id) error {
				n, err := w.Next(ctx)
				if len(out) > 0 {
					out[0] = narrow(n)
				}
				return err
			}
		}
		return s, nil
	}
}

func nextN(o idworker.Options) func() (source, error) {
	return func() (source, error) {
		w, s, err := openFile(o)
		if err != nil {
			return s, err
		}
		ctx := context.Background()
		s.caller = func() call {
			var ids [batch]idworker.ID
			return func(out []id) error {
				_, err := w.NextN(ctx, ids[:])
				for i := range out {
					out[i] = narrow(ids[batch-len(out)+i])
				}
				return err
			}
		}
		return s, nil
	}
}

func ring(o idworker.Options) func() (source, error) {
	return func() (source, error) {
		w, s, err := openFile(o)
		if err != nil {
			return s, err
		}
		r, err := idworker.NewRing(w, idworker.RingOptions{Boost: 4})
		if err != nil {
			return s, errors.Join(err, s.close())
		}
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = r.Run(ctx) }) // callers fill it if that fails
		closeWorker := s.close
		s.close = func() error {
			cancel()
			running.Wait()
			return closeWorker()
		}
		s.caller = func() call {
			return func(out []id) error {
				n, err := r.Next(ctx)
				if len(out) > 0 {
					out[0] = narrow(n)
				}
				return err
			}
		}
		return s, nil
	}
}

// openFile opens a Worker on a new directory, which close removes, and runs it.
func openFile(o idworker.Options) (*idworker.Worker, source, error) {
	dir, err := os.MkdirTemp("", "flakepass-peers")
	if err != nil {
		return nil, source{}, err
	}
	l := &fileworker.Lender{Dir: filepath.Join(dir, "worker"), Numbers: 1}
	w, s, err := openWorker(l, o)
	if err != nil {
		return nil, source{}, errors.Join(err, os.RemoveAll(dir))
	}
	closeWorker := s.close
	s.close = func() error { return errors.Join(closeWorker(), os.RemoveAll(dir)) }
	return w, s, nil
}

// openWorker opens a Worker and runs it until close.
func openWorker(l idworker.Lender, o idworker.Options) (*idworker.Worker, source, error) {
	if o.Layout == (idworker.Layout{}) {
		o.Layout = idworker.Default()
	}
	w, err := idworker.Open(context.Background(), l, o)
	if err != nil {
		return nil, source{}, err
	}
	ran := make(chan error, 1)
	go func() { ran <- w.Run(context.Background()) }()
	return w, source{
		milli: func(i id) int64 { return o.Layout.UnixMilli(idworker.ID(i.low)) },
		close: func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			return errors.Join(w.Close(ctx), <-ran)
		},
	}, nil
}
