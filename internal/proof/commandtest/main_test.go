package commandtest

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flakepass/flakepass/internal/edge/cli"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// TestMain lets the scripts below testdata run the command as raced, in a process of
// its own: with the race detector, if these tests have it. The process that hashes for
// it is started as flakepass.
func TestMain(m *testing.M) {
	testscript.Main(overlapping{m}, map[string]func(){"raced": flakepassCommand, "flakepass": flakepassCommand})
}

// overlapping runs the tests as those of the other packages run that start the program.
type overlapping struct{ *testing.M }

func (m overlapping) Run() int { return e2e.Main(m.M) }

// flakepassCommand is what the main function of cmd/flakepass does.
func flakepassCommand() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
