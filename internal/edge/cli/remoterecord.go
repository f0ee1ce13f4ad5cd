package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

type remoteSweep struct {
	JSON bool `help:"Print JSON."`
}

// Run has a pass begin, and looks each half second how far it is.
func (c remoteSweep) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s remoteServer) error {
		r, err := s.StartSweep(ctx)
		if errors.Is(err, client.SweepRunning) {
			return errors.New("a sweep is running on that server; nothing was done. Wait for it")
		}
		if err != nil {
			return err
		}
		bar, tick := a.bar("logins", 0), time.NewTicker(500*time.Millisecond)
		defer tick.Stop()
		for r.Outcome == string(sweep.Running) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				bar.end()
				return fmt.Errorf("not waited for; sweep %s goes on at the server", r.ID)
			}
			if r, err = pass(ctx, s, r); err != nil {
				bar.end()
				return fmt.Errorf("%w; sweep %s goes on at the server", err, r.ID)
			}
			bar.show(r.Cleared)
		}
		bar.end()
		return showSweep(a.out, c.JSON, r, "the log of "+printable(r.Instance))
	})
}

// pass is how far a pass is now.
func pass(ctx context.Context, s remoteServer, was wire.Sweep) (wire.Sweep, error) {
	for r, err := range s.Sweeps(ctx) {
		if err != nil {
			return was, err
		}
		if r.ID == was.ID {
			return r, nil
		}
		if r.ID < was.ID { // newest first
			break
		}
	}
	return was, errors.New("the server does not list the sweep any more")
}
