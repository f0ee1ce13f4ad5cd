package cli

import (
	"context"
	"os"
	"os/user"
	"strconv"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/server/run"
)

// operatorName is who types a command, for the record: user@host.
func operatorName() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return name + "@" + host
}

// commandActor is the one who types this command.
func commandActor() audit.Actor { return audit.Actor{Name: operatorName(), Via: audit.ViaCLI} }

// withIDs opens what mints the IDs of events while f runs.
func (o *office) withIDs(ctx context.Context, f func(ids audit.IDs) error) error {
	ids, closeIDs, err := run.OpenEventIDs(ctx, o.cfg, o.db, o.log)
	if err != nil {
		return err
	}
	defer closeIDs()
	return f(ids)
}
