package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

type userSecondFactorRekey struct {
	because
	DryRun bool `help:"Count what would be encrypted anew, and change nothing."`
	JSON   bool `help:"Print JSON."`
}

func (userSecondFactorRekey) Help() string {
	return "Encrypts every stored secret under the first key of FLAKEPASS_SECOND_FACTOR_KEY, which every running instance must have by then. " +
		"It may be stopped at any time and said again. Once it says that nothing is left under an old key, that can be taken out of the setting."
}

func (c userSecondFactorRekey) Run(a *app) error {
	with := a.toAct
	if c.DryRun {
		with = a.toLook
	}
	return with(func(ctx context.Context, l *local) error {
		keys, err := storedKeys(l.cfg)
		if err != nil {
			return err
		}
		r := &secondfactor.Rekeyer{Vault: &sqlstore.SecondFactors{DB: l.db}, Keys: keys, IDs: l.operators.Users.IDs}
		done, err := r.Run(ctx, commandActor(), c.Reason, c.DryRun)
		if err != nil {
			if done.Changed > 0 && !c.DryRun {
				return fmt.Errorf("%w; %s encrypted anew before that; say it again to go on", err, secretsIn(done.Changed))
			}
			return err
		}
		if err := c.show(a.out, done); err != nil {
			return err
		}
		return c.rest(done)
	})
}

// storedKeys are those that a server with this configuration has. None is made.
func storedKeys(cfg config.Config) (secondfactor.Keys, error) {
	keys, err := run.StoredKeys(cfg)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return keys, err
	case cfg.Database.Kind != config.SQLite:
		return keys, errors.New("there is no key; set FLAKEPASS_SECOND_FACTOR_KEY as the servers have it, the newest first")
	}
	return keys, fmt.Errorf("there is no key, neither in FLAKEPASS_SECOND_FACTOR_KEY nor in a file: %w; set it as the server has it", err)
}

func (c userSecondFactorRekey) show(out io.Writer, done secondfactor.Rekeyed) error {
	type line struct {
		Key        string `json:"key"`
		Secrets    int    `json:"secrets"`
		Configured bool   `json:"configured"`
		Newest     bool   `json:"newest"`
	}
	lines := make([]line, len(done.Keys))
	for i, u := range done.Keys {
		lines[i] = line{u.ID, u.Secrets, u.Configured, u.ID == done.Key}
	}
	return show(out, c.JSON, struct {
		DryRun     bool   `json:"dry_run"`
		Key        string `json:"key"`
		Changed    int    `json:"changed"`
		Unreadable int    `json:"unreadable"`
		Keys       []line `json:"keys"`
	}{c.DryRun, done.Key, done.Changed, done.Unreadable, lines}, func(w io.Writer) {
		_, _ = fmt.Fprintln(w, "KEY\tSECRETS\t")
		for _, l := range lines {
			what := "an old one, which can be taken out of the configuration"
			switch {
			case l.Newest:
				what = "the newest"
			case !l.Configured:
				what = "not configured"
			case l.Secrets > 0:
				what = "an old one, which is still needed"
			}
			if l.Key == "" {
				l.Key = "unknown"
			}
			_, _ = fmt.Fprintf(w, "%s\t%d\t%s\n", l.Key, l.Secrets, what)
		}
		verb := "encrypted anew"
		if c.DryRun {
			verb = "to be encrypted anew"
		}
		_, _ = fmt.Fprintf(w, "%s %s under key %s\n", secretsIn(done.Changed), verb, done.Key)
	})
}

// rest is an error if secrets are left under other keys than the newest, so that a
// script does not throw a key away that is needed.
func (c userSecondFactorRekey) rest(done secondfactor.Rekeyed) error {
	switch {
	case done.Unknown() > 0:
		return fmt.Errorf("%s under a key that is not in FLAKEPASS_SECOND_FACTOR_KEY; add that behind the first, "+
			"or remove these factors: who has one gets in with a recovery code only", secretsIn(done.Unknown()))
	case done.Unreadable > 0:
		return fmt.Errorf("%s damaged, or copied from another user, and left as it is; remove these factors, and have people add others", secretsIn(done.Unreadable))
	case done.Left() > 0 && !c.DryRun:
		return fmt.Errorf("%s under an old key again; put the newest key first on every instance, and say it once more", secretsIn(done.Left()))
	}
	return nil
}

func secretsIn(n int) string {
	if n == 1 {
		return "1 secret"
	}
	return fmt.Sprintf("%d secrets", n)
}
