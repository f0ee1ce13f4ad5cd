package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

type sweepCommand struct {
	DryRun bool `help:"Count what would be cleared, and change nothing."`
	JSON   bool `help:"Print JSON."`
}

func (c sweepCommand) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	log := telemetry.NewLog(a.errs, cfg.LogFormat, cfg.LogLevel)
	run.LogRedis(log)
	db, err := run.OpenExisting(a.ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
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
	defer func() { _ = ids.Close(context.WithoutCancel(a.ctx)) }()
	d, err := run.NewSweeper(cfg, db, policy.Fixed(rule), ids, quiet(log))
	if err != nil {
		return err
	}
	defer d.Close()
	d.After = run.Retention(cfg, db, log).AfterSweep
	return c.sweep(a, d)
}

// quiet leaves out what the command tells by itself.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(atLeast{log.Handler()})
}

// An atLeast passes on warnings and errors only.
type atLeast struct{ slog.Handler }

// Enabled is asked before each record.
func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

func (c sweepCommand) count(a *app, d run.SweepDoor) error {
	bar := a.bar(0)
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

// sweep clears all that is over, with no ceiling: somebody waits for it, who can
// stop it.
func (c sweepCommand) sweep(a *app, d run.SweepDoor) error {
	d.Limits.Rows, d.Limits.Time = math.MaxInt, math.MaxInt64
	bar := a.bar(0)
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
	return tellSweep(a.out, c.JSON, r, "the log above")
}

// tellSweep says what a pass did, and fails if it left anything. log is what has
// the details.
func tellSweep(out io.Writer, asJSON bool, r sweep.Report, log string) error {
	if err := show(out, asJSON, reportOf(r), func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%d logins cleared in %v, %d rows failed\n", r.Cleared, r.Took().Round(time.Millisecond), r.FailedRows)
	}); err != nil {
		return err
	}
	switch {
	case r.Outcome == sweep.Stopped:
		return errors.New("stopped; what was cleared stays so, and the next sweep goes on")
	case r.Outcome != sweep.Done:
		return fmt.Errorf("the sweep ended early (%s) %s; what was cleared stays so, and the next one goes on", r.Outcome, printable(r.Detail))
	case r.FailedRows > 0:
		return fmt.Errorf("%d rows cannot be cleared; %s names them. The users can log in, and the logins are over all the same", r.FailedRows, log)
	}
	return nil
}

// A sweepReport is a pass as JSON has it.
type sweepReport struct {
	ID         idworker.ID   `json:"id"`
	Outcome    sweep.Outcome `json:"outcome"`
	Cleared    int64         `json:"cleared"`
	FailedRows int64         `json:"failed_rows"`
	Took       int64         `json:"took_ms"`
	Longest    int64         `json:"longest_batch_ms"`
	Detail     string        `json:"detail"`
}

func reportOf(r sweep.Report) sweepReport {
	return sweepReport{r.ID, r.Outcome, r.Cleared, r.FailedRows, r.Took().Milliseconds(), r.Longest.Milliseconds(), r.Detail}
}
