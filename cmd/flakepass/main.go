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
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as below nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
