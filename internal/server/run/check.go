package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/keypair"
)

// checkFirst finds what would stop this start and can be known without the database, before
// that is made or migrated: the previous release refuses a newer schema, so after a
// failed upgrade it could not come back.
func (s *system) checkFirst(ctx, _ context.Context) (err error) {
	if s.cfg.TLSCert != "" {
		if s.pair, err = keypair.Load(s.cfg.TLSCert, s.cfg.TLSKey); err != nil {
			return fmt.Errorf("cannot use FLAKEPASS_TLS_CERT and FLAKEPASS_TLS_KEY: %w", err)
		}
	}
	if _, err := StoredKeys(s.cfg); err != nil && !errors.Is(err, fs.ErrNotExist) { // a file that is missing is made later
		return fmt.Errorf("serve: %w", err)
	}
	if err := checkPorts(ctx, s.cfg); err != nil {
		return err
	}
	var unread func()
	if s.cfg.BreachedPasswords != "" {
		unread = s.metrics.BreachedUnread()
	}
	stolen, closeList, err := OpenBreached(s.cfg, s.log, unread)
	if err != nil {
		return err
	}
	s.stolen, s.ends = stolen, append(s.ends, closeList)
	return nil
}

// checkPorts opens both ports and closes them again. While the database is waited for, a
// client is to be refused, as by a server that does not run: in a port that stays open
// its connection would wait, and a health check would take this instance for one that serves.
func checkPorts(ctx context.Context, cfg config.Config) error {
	public, err := listen(ctx, cfg.Listen, "FLAKEPASS_LISTEN")
	if err != nil {
		return err
	}
	defer func() { _ = public.Close() }()
	ops, err := listen(ctx, cfg.OpsListen, "FLAKEPASS_OPS_LISTEN")
	if err != nil {
		return err
	}
	return ops.Close()
}
