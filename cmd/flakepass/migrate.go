package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/internal/gormstore"
	"github.com/flakepass/flakepass/migrations"
)

type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Apply what is missing. The server does this by itself when it starts."`
	Down   migrateDown   `cmd:"" help:"Undo the last step. What only that step's tables hold is lost."`
	Status migrateStatus `cmd:"" help:"List the steps and when each was applied."`
}

type (
	migrateUp   struct{}
	migrateDown struct {
		Steps int `help:"Undo so many steps." default:"1"`
	}
	migrateStatus struct {
		JSON bool `help:"Print JSON."`
	}
)

// withDatabase runs f on the configured database as it is.
func (a *app) withDatabase(f func(ctx context.Context, db *gormstore.DB) error) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	db, err := connect(a.ctx, cfg, slog.New(slog.NewTextHandler(a.errs, nil)), true)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return f(a.ctx, db)
}

func (migrateUp) Run(a *app) error {
	return a.withDatabase(func(ctx context.Context, db *gormstore.DB) error {
		applied, err := migrations.Up(ctx, db.SQL(), db.Dialect())
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
	return a.withDatabase(func(ctx context.Context, db *gormstore.DB) error {
		undone, err := migrations.Down(ctx, db.SQL(), db.Dialect(), c.Steps)
		for _, m := range undone {
			_, _ = fmt.Fprintf(a.out, "undone %05d %s\n", m.Number, m.Name)
		}
		if err == nil && len(undone) == 0 {
			_, _ = fmt.Fprintln(a.out, "nothing to do: the database is empty")
		}
		return err
	})
}

func (c migrateStatus) Run(a *app) error {
	return a.withDatabase(func(ctx context.Context, db *gormstore.DB) error {
		states, err := migrations.Status(ctx, db.SQL(), db.Dialect())
		if err != nil {
			return err
		}
		type line struct {
			Number    int64      `json:"number"`
			Name      string     `json:"name"`
			AppliedAt *time.Time `json:"applied_at"`
		}
		lines := make([]line, len(states))
		for i, s := range states {
			lines[i] = line{Number: s.Number, Name: s.Name}
			if !s.AppliedAt.IsZero() {
				at := s.AppliedAt.UTC()
				lines[i].AppliedAt = &at
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
