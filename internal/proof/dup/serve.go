//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// startWithin bounds the start of a server, with the repair of its data.
const startWithin = time.Minute

// A served process is a lender's server. A nil one is none.
type served struct {
	*server.Process
	ready func(context.Context) error
}

// serve starts the server that the kind of lender needs, in dir.
func (k kind) serve(ctx context.Context, dir string) (*served, string, error) {
	if k.server == "" {
		return nil, "", nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", err
	}
	port, err := server.FreePort(ctx)
	if err != nil {
		return nil, "", err
	}
	p, err := server.Prepare(ctx, k.server, dir, port)
	if err != nil {
		return nil, "", err
	}
	address := k.address(port)
	s := &served{Process: p, ready: func(ctx context.Context) error { return k.ready(ctx, address) }}
	if err := s.start(ctx); err != nil {
		return nil, "", errors.Join(err, s.Stop())
	}
	return s, address, nil
}

func (s *served) start(ctx context.Context) error {
	if err := s.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	return s.Wait(ctx, s.ready)
}

// Stop ends the server, if there is one.
func (s *served) Stop() error {
	if s == nil {
		return nil
	}
	return s.Process.Stop()
}

// disturb kills, stops and restarts the server until ctx ends.
func (r *row) disturb(ctx context.Context, s *served) error {
	for {
		pause(ctx, r.kind.rest+time.Second+rand.N(3*time.Second))
		if ctx.Err() != nil {
			return nil
		}
		var err error
		switch rand.IntN(4) {
		case 0: // it answers no request, and all connections stay
			if err := s.Pause(); err != nil {
				return err
			}
			pause(ctx, rand.N(2*time.Second))
			err = s.Resume()
		case 1: // in good order
			err = s.Process.Stop()
		default:
			err = s.Kill()
		}
		if err != nil {
			return fmt.Errorf("the server of %s: %w", r.kind.name, err)
		}
		if !s.Running() {
			pause(ctx, rand.N(time.Second))
			if err := s.start(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		r.restarts.Add(1)
	}
}
