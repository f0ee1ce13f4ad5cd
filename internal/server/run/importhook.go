package run

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/importhook"
)

// openHook has the import hook asked by accounts, if there is one.
func (s *system) openHook(ctx context.Context, accounts *account.Service) {
	if s.cfg.ImportHookURL == "" {
		return
	}
	var failures minutely // one that fails does so for each login
	s.hook = importhook.New(importhook.Options{
		URL: s.cfg.ImportHookURL, Secret: []byte(s.cfg.ImportHookSecret.Reveal()), Now: time.Now,
		Counted: s.metrics.ImportHook(importhook.Results(), func() bool { return s.hook.Answers() }),
		Failed: func(err error) {
			failures.do(func() {
				s.log.WarnContext(ctx, "the import hook gave no answer; the login is tried again later", "err", err)
			})
		},
		Left: func(err error) {
			if err == nil {
				s.log.InfoContext(ctx, "the import hook answers again")
				return
			}
			s.log.WarnContext(ctx, "the import hook does not answer, and is left alone for some seconds; people who have no password here cannot log in", "err", err)
		},
	})
	accounts.Elsewhere = s.hook
	s.log.InfoContext(ctx, "names without an account or a password here are asked about at the import hook", "url", s.cfg.ImportHookURL)
	if s.cfg.Registration == config.RegistrationOpen {
		s.log.WarnContext(ctx, "registration is open beside the import hook: whoever registers a name of the old system first has it; set FLAKEPASS_REGISTRATION=closed until all have moved")
	}
}

// hookWarnings are what an operator should know of the hook.
func (s *system) hookWarnings() []string {
	if s.hook == nil || s.hook.Answers() {
		return nil
	}
	return []string{"the import hook does not answer: people who have no password here cannot log in"}
}
