// Command flakepass keeps the login state of mobile apps. Run it without
// configuration: `flakepass serve`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/flakepass/flakepass/internal/edge/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
