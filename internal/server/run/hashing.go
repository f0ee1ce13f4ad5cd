package run

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/hashproc"
	"github.com/flakepass/flakepass/internal/server/telemetry"
)

// newEngine starts the process in which passwords are hashed, unless none is
// wanted. Where none can be had they are hashed in this one: logins work, and slow the rest down.
func newEngine(ctx context.Context, cfg config.Config, log *slog.Logger, metrics *telemetry.Metrics) (account.Engine, func()) {
	if !cfg.HashProcess {
		return account.Here{}, func() {}
	}
	e, err := hashproc.New(log, func() *exec.Cmd { return hashing(cfg.HashWorkers) }) //nolint:contextcheck // the process is of nobody who asks first
	if err != nil {
		log.WarnContext(ctx, "passwords are hashed in the server's own process, and a flood of logins slows other requests down", "err", err)
		return account.Here{}, func() {}
	}
	metrics.Hashing(e.PID)
	return e, e.Close
}

// hashing is this program as the process that hashes. It gets nothing of the
// environment, which holds secrets that it needs not.
func hashing(workers int) *exec.Cmd {
	cmd := exec.Command(ownProgram(), "hash") //nolint:gosec,noctx // this program; the end of its input ends it
	cmd.Args[0] = "flakepass"
	cmd.Env = []string{"GOMAXPROCS=" + strconv.Itoa(min(workers, runtime.NumCPU()))}
	cmd.Stderr = os.Stderr
	return cmd
}

// ownProgram is the file of this program. On Linux that is what runs, even
// after an upgrade has put another in its place.
func ownProgram() string {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return os.Args[0]
}
