package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Apply what is missing. The server does this by itself when it starts."`
	Down   migrateDown   `cmd:"" help:"Undo the last step, once you have confirmed it. What only that step's tables hold is lost."`
	Status migrateStatus `cmd:"" help:"List the steps and when each was applied."`
}

type (
	migrateUp   struct{}
	migrateDown struct {
		Steps int  `help:"Undo so many steps." default:"1"`
		Yes   bool `help:"Do not ask."`
	}
	migrateStatus struct {
		JSON bool `help:"Print JSON."`
	}
)

func (c migrateDown) Validate() error {
	if c.Steps < 1 {
		return errors.New("--steps is at least 1")
	}
	return nil
}

// withDatabase runs f on the configured database, whatever its schema. find
// makes sure that it is there, or makes it.
func (a *app) withDatabase(find func(config.Config) error, f func(ctx context.Context, cfg config.Config, db *sqlstore.DB, log *slog.Logger) error) error {
	open := func(ctx context.Context, cfg config.Config, log *slog.Logger) (*sqlstore.DB, error) {
		if err := find(cfg); err != nil {
			return nil, err
		}
		return run.Connect(ctx, cfg, log, true)
	}
	return a.with(open, func(cfg config.Config, db *sqlstore.DB, log *slog.Logger) error {
		return run.Advised(f(a.ctx, cfg, db, log))
	})
}

func (migrateUp) Run(a *app) error {
	orMake := func(cfg config.Config) error {
		made, err := run.MakeDatabase(cfg)
		if err == nil && made {
			_, err = fmt.Fprintf(a.out, "database created: %s\n", run.Place(cfg))
		}
		return err
	}
	return a.withDatabase(orMake, func(ctx context.Context, _ config.Config, db *sqlstore.DB, log *slog.Logger) error {
		applied, err := migrations.Up(ctx, db.SQL(), db.Dialect(), log)
		for _, m := range applied {
			_, _ = fmt.Fprintf(a.out, "applied %05d %s\n", m.Number, m.Name)
		}
		if err == nil && len(applied) == 0 {
			_, _ = fmt.Fprintln(a.out, "nothing to do: the database is up to date")
		}
		return err
	})
}

func (c migrateDown) Run(a *app) error {
	return a.withDatabase(run.FindDatabase, func(ctx context.Context, cfg config.Config, db *sqlstore.DB, log *slog.Logger) error {
		have, err := run.Applied(ctx, db)
		if err != nil {
			return err
		}
		if len(have) > 0 && c.Steps > len(have) {
			return fmt.Errorf("--steps=%d is more than the %d that are applied to %s; nothing was undone", c.Steps, len(have), run.Place(cfg))
		}
		// Only the newer release knows how to undo what this one does not know.
		if err := migrations.Check(ctx, db.SQL(), db.Dialect()); errors.Is(err, migrations.ErrAhead) {
			return err
		}
		if len(have) > 0 && !c.Yes {
			if err := c.agreed(ctx, a, cfg, db, have); err != nil {
				return err
			}
		} else if n := run.Running(ctx, db); n > 0 {
			_, _ = fmt.Fprintf(a.errs, "warning: instances that run on this database: %d. They lack what is undone now; stop them.\n", n)
		}
		undone, err := migrations.Down(ctx, db.SQL(), db.Dialect(), c.Steps, log)
		for _, m := range undone {
			_, _ = fmt.Fprintf(a.out, "undone %05d %s\n", m.Number, m.Name)
		}
		if err == nil && len(undone) == 0 {
			_, _ = fmt.Fprintln(a.out, "nothing to do: the database is empty")
		}
		return err
	})
}

// agreed asks whether to undo, and makes sure that what is undone is what was
// asked about: a person takes a while to answer.
func (c migrateDown) agreed(ctx context.Context, a *app, cfg config.Config, db *sqlstore.DB, have []migrations.State) error {
	what, err := c.loses(ctx, cfg, db, have)
	if err != nil {
		return err
	}
	if err := a.confirm(what); err != nil {
		return err
	}
	now, err := run.Applied(ctx, db)
	if err == nil && !slices.Equal(now, have) {
		err = errors.New("another process has migrated the database meanwhile; nothing was undone, see `flakepass migrate status`")
	}
	return err
}

// loses says which steps would be undone, newest first, where, and what with
// them.
func (c migrateDown) loses(ctx context.Context, cfg config.Config, db *sqlstore.DB, have []migrations.State) (string, error) {
	var steps []string
	last := ""
	for _, m := range slices.Backward(have[len(have)-c.Steps:]) {
		steps = append(steps, fmt.Sprintf("%05d %s", m.Number, m.Name))
		last = m.Name
	}
	what := fmt.Sprintf("About to undo %s in %s. What their tables and columns hold will be lost for good.", strings.Join(steps, ", "), run.Place(cfg))
	if last == "users" { // the first step of all
		var n int
		if err := db.SQL().QueryRowContext(ctx, "SELECT COUNT(*) FROM users").Scan(&n); err != nil {
			return "", fmt.Errorf("count the users: %w", err)
		}
		what += fmt.Sprintf(" That is everything; users, with their passwords and logins: %d.", n)
	}
	if n := run.Running(ctx, db); n > 0 {
		what += fmt.Sprintf(" Instances that run on this database: %d. Stop them first: they lack what is undone, and answer with errors.", n)
	}
	return what, nil
}

func (c migrateStatus) Run(a *app) error {
	return a.withDatabase(run.FindDatabase, func(ctx context.Context, _ config.Config, db *sqlstore.DB, _ *slog.Logger) error {
		states, err := migrations.Status(ctx, db.SQL(), db.Dialect())
		if err != nil {
			return err
		}
		type line struct {
			Number    int64      `json:"number"`
			Name      string     `json:"name"`
			AppliedAt *wire.Time `json:"applied_at"`
		}
		lines := make([]line, len(states))
		for i, s := range states {
			lines[i] = line{Number: s.Number, Name: s.Name}
			if !s.AppliedAt.IsZero() {
				lines[i].AppliedAt = &wire.Time{Time: s.AppliedAt.UTC()}
			}
		}
		return show(a.out, c.JSON, lines, func(w io.Writer) {
			_, _ = fmt.Fprintln(w, "STEP\tNAME\tAPPLIED")
			for _, l := range lines {
				at := "-"
				if l.AppliedAt != nil {
					at = l.AppliedAt.Format(time.RFC3339)
				}
				_, _ = fmt.Fprintf(w, "%05d\t%s\t%s\n", l.Number, l.Name, at)
			}
		})
	})
}
