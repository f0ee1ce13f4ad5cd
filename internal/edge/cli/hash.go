package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/server/hashproc"
)

// hashCommand is the process in which a server has passwords hashed.
type hashCommand struct{}

func (hashCommand) Run(a *app) error {
	if f, ok := a.in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return errors.New("hash is started by serve, and is of no use by hand")
		}
	}
	out, ok := a.out.(*os.File)
	if !ok {
		return errors.New("hash writes to a file only")
	}
	// The end of its input ends it. What tells the server to stop is often told
	// to this process too, and logins that have begun are still to be answered.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	return hashproc.Serve(a.in, out, account.Here{})
}
