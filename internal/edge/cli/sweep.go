package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/edge/render"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

type sweepCommand struct {
	DryRun bool `help:"Count what would be cleared, and change nothing."`
	JSON   bool `help:"Print JSON."`
}

func (c sweepCommand) Run(a *app) error {
	return a.with(run.OpenExisting, func(cfg config.Config, db *sqlstore.DB, log *slog.Logger) error {
		rule, err := (&sqlstore.Settings{DB: db}).LoadPolicy(a.ctx)
		if err != nil {
			return err
		}
		if c.DryRun {
			cfg.Replicas = nil // nothing is written
			d, err := run.NewSweeper(cfg, db, policy.Fixed(rule), nil, log)
			if err != nil {
				return err
			}
			return c.count(a, d)
		}
		ids, closeLender, err := run.OpenWorker(a.ctx, cfg, db, log, false, nil)
		if err != nil {
			return err
		}
		defer closeLender()
		defer func() { _ = run.HandBack(a.ctx, ids) }()
		run.RecordOverLimit(cfg, db, ids)
		d, err := run.NewSweeper(cfg, db, policy.Fixed(rule), ids, quiet(log))
		if err != nil {
			return err
		}
		defer d.Close()
		d.After = func(ctx context.Context) {
			run.Retention(cfg, db, log).AfterSweep(ctx)
			run.Deletions(cfg, db, nil, ids, log).AfterSweep(ctx) // who asked for a deletion has no login left to tell of
		}
		return c.sweep(a, d)
	})
}

// quiet leaves out what the command prints itself.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(atLeast{log.Handler()})
}

// An atLeast passes on warnings and errors only.
type atLeast struct{ slog.Handler }

// Enabled is asked before each record.
func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

func (c sweepCommand) count(a *app, d run.Sweeper) error {
	bar := a.bar("logins", 0)
	n, err := d.Count(a.ctx, bar.show)
	bar.end()
	if err != nil {
		return err
	}
	return show(a.out, c.JSON, struct {
		DryRun  bool  `json:"dry_run"`
		Expired int64 `json:"expired"`
		Revoked int64 `json:"revoked"`
		Idle    int64 `json:"idle"`
		Total   int64 `json:"total"`
	}{true, n.Expired, n.Revoked, n.Idle, n.Total()}, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%d logins would be cleared: %d expired, %d revoked, %d idle; nothing was changed\n", n.Total(), n.Expired, n.Revoked, n.Idle)
	})
}

// sweep clears all that is over, without the limits of a scheduled pass: the user
// waits for it, and can stop it.
func (c sweepCommand) sweep(a *app, d run.Sweeper) error {
	d.Limits.Rows, d.Limits.Time = math.MaxInt, math.MaxInt64
	bar := a.bar("logins", 0)
	if bar.terminal && !c.JSON {
		n, err := d.Count(a.ctx, bar.show)
		if err != nil {
			bar.end()
			return err
		}
		bar.total = n.Total()
	}
	d.Progress = func(r sweep.Report) { bar.show(r.Cleared) }
	r, err := d.Once(a.ctx, commandActor())
	bar.end()
	if errors.Is(err, sweep.ErrRunning) {
		return errors.New("a sweep is running, here or on another instance; nothing was done. " +
			"Wait for it: GET /v1/admin/sweeps shows it")
	}
	if err != nil {
		return err
	}
	return showSweep(a.out, c.JSON, render.Sweep(&r), "the log above")
}

// A sweepLine is a pass as --json prints it.
type sweepLine struct {
	wire.Sweep
	Took wire.Millis `json:"took_ms"`
}

// showSweep says what a pass did, and fails if it left anything. log is what has
// the details.
func showSweep(out io.Writer, asJSON bool, r wire.Sweep, log string) error {
	took := r.FinishedAt.Sub(r.StartedAt.Time)
	if err := show(out, asJSON, sweepLine{r, wire.Millis(took)}, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%d logins cleared in %v, %d rows failed\n", r.Cleared, took.Round(time.Millisecond), r.FailedRows)
	}); err != nil {
		return err
	}
	switch {
	case r.Outcome == string(sweep.Stopped):
		return errors.New("stopped; what was cleared stays so, and the next sweep goes on")
	case r.Outcome != string(sweep.Done):
		return fmt.Errorf("the sweep ended early (%s) %s; what was cleared stays so, and the next one goes on", printable(r.Outcome), printable(r.Detail))
	case r.FailedRows > 0:
		return fmt.Errorf("%d rows cannot be cleared; %s names them. The users can log in, and the logins are over all the same", r.FailedRows, log)
	}
	return nil
}
