package cli

import (
	"context"
	"errors"

	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/server/telemetry"
)

type serveCommand struct{}

func (serveCommand) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	log := run.OfInstance(telemetry.NewLog(a.errs, cfg.LogFormat, cfg.LogLevel))
	run.LogRedis(log)
	err = run.Serve(a.ctx, cfg, a.out, a.errs, nil)
	if a.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // told to stop before it had started
	}
	if err == nil {
		log.InfoContext(a.ctx, "stopped")
	}
	return err
}
