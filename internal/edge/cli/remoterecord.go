package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

type remoteAudit struct{ auditCommand }

func (c remoteAudit) Run(a *app) error {
	now := time.Now()
	return a.remotely(func(ctx context.Context, s counter) error {
		p, left := c.printer(a.out), c.Limit
		for e, err := range s.Audit(ctx, apiclient.AuditFilter{
			Action: c.Action, Actor: c.Actor, Target: c.Target, Since: c.Since.time(now), Until: c.Until.time(now),
		}) {
			if err == nil {
				err = p.print(farEvent(e))
			}
			if err != nil {
				return errors.Join(err, p.end())
			}
			if left--; left == 0 {
				break
			}
		}
		return p.end()
	})
}

// farEvent is an event as the server has it. Its ID says when it was made, there as
// here.
func farEvent(e apiclient.AuditEvent) *audit.Event {
	return &audit.Event{
		ID: idworker.ID(e.ID), Action: audit.Action(e.Action), Target: audit.Target{Kind: e.Target.Kind, ID: idworker.ID(e.Target.ID), Name: e.Target.Name}, Reason: e.Reason,
		By:  audit.Actor{ID: idworker.ID(e.Actor.ID), Name: e.Actor.Name, Via: e.Via, RequestID: e.RequestID, Address: e.Address},
		Old: e.Old, New: e.New,
	}
}

type remoteSweep struct {
	JSON bool `help:"Print JSON."`
}

// Run has a pass begin, and looks each half second how far it is.
func (c remoteSweep) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		r, err := s.StartSweep(ctx)
		if errors.Is(err, apiclient.SweepRunning) {
			return errors.New("a sweep is running on that server; nothing was done. Wait for it")
		}
		if err != nil {
			return err
		}
		bar, tick := a.bar(0), time.NewTicker(500*time.Millisecond)
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
		return tellSweep(a.out, c.JSON, sweep.Report{
			ID: idworker.ID(r.ID), Instance: r.Instance, RequestedBy: r.RequestedBy, Started: r.StartedAt, Finished: r.FinishedAt, Outcome: sweep.Outcome(printable(r.Outcome)),
			Cleared: r.Cleared, FailedRows: r.FailedRows, Longest: r.LongestBatch, Detail: r.Detail,
		}, "the log of "+printable(r.Instance))
	})
}

// pass is how far a pass is now.
func pass(ctx context.Context, s counter, was apiclient.Sweep) (apiclient.Sweep, error) {
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
