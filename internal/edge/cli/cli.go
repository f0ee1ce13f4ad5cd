// Package cli is the command line of flakepass: it reads what an operator types, calls
// one verb of the domain, in this deployment's database or on a server over HTTP, and
// prints what came of it.
//
// Each command is a struct whose fields are its arguments and flags. kong fills them in, calls
// Validate, and then Run; Help is what it shows beside the flags.
package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/release"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/server/telemetry"
)

// An app is what every command gets.
type app struct {
	ctx       context.Context //nolint:containedctx // kong binds one value; it lives as long as the command
	file      string
	in        io.Reader
	out, errs io.Writer
	remote    bool           // the command acts on a server elsewhere
	insecure  bool           // of remote
	keys      *term.Terminal // reads what is typed and not shown; nil before the first question
}

type commands struct {
	Print  kong.VersionFlag `name:"version" help:"Print the version."`
	Config *string          `help:"Read settings from this YAML file; the environment goes before it." placeholder:"FILE"`

	Serve   serveCommand   `cmd:"" help:"Run the server."`
	Ready   readyCommand   `cmd:"" help:"Ask the server on this machine whether it is ready; for health checks."`
	Migrate migrateCommand `cmd:"" help:"Bring the database to this program's version, or back."`
	User    userCommand    `cmd:"" help:"Add, list, disable, enable and log out users; set roles and passwords."`
	Session sessionCommand `cmd:"" help:"List and end logins."`
	Key     keyCommand     `cmd:"" help:"Make, list and revoke the keys of services."`
	Sweep   sweepCommand   `cmd:"" help:"Clear all logins that are over, now."`
	Policy  policyCommand  `cmd:"" help:"Show and change how long logins last."`
	Audit   auditCommand   `cmd:"" help:"Show who did what, the newest first."`
	Remote  remoteCommand  `cmd:"" help:"Do most of this on a server elsewhere, over HTTP, as an admin."`
	ID      idCommand      `cmd:"" name:"id" help:"Mint IDs, and take them apart."`
	Conf    configCommand  `cmd:"" name:"config" help:"Print the effective settings, with secrets hidden."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// Run is main without the process: it returns the exit code, 0 for done, 1 for
// failed, 2 for a command line or a configuration that cannot be used.
func Run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	a := &app{ctx: ctx, in: in, out: out, errs: errs}
	// To make the parser takes a tenth of the start of a server, twice: in its process that
	// hashes, too.
	switch strings.Join(args, " ") {
	case "serve":
		return a.ended(serveCommand{}.Run(a))
	case "hash":
		return a.ended(hash(a))
	}
	var c commands
	helped := false
	parser, err := kong.New(&c,
		kong.Name("flakepass"),
		kong.Description("The login-state backend: log in, be recognised, log out, expire."),
		kong.Writers(out, errs),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Exit(func(int) { helped = true }),
		kong.Bind(a),
		kong.Vars{"version": "flakepass " + release.Version()},
	)
	if err != nil {
		_, _ = fmt.Fprintln(errs, "flakepass:", err)
		return 2
	}
	if len(args) == 0 {
		args = []string{"--help"}
	} else if args[0] == "help" { // as other programs have it
		args = append(slices.Clone(args[1:]), "--help")
	}
	parsed, err := parser.Parse(args)
	if helped {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintf(errs, "flakepass: %s\nTry: flakepass --help\n", mistyped(err))
		return 2
	}
	if c.Config != nil {
		// A variable that is not set makes --config="$FILE" empty. To go on without the file would
		// be to run with other settings than the ones that were meant.
		if *c.Config == "" {
			return a.ended(misuse("--config is empty; name a file, or leave it out"))
		}
		a.file = *c.Config
	}
	return a.ended(parsed.Run())
}

// ended says what went wrong, if anything did, and returns the exit code.
func (a *app) ended(err error) int {
	if err != nil {
		_, _ = fmt.Fprintln(a.errs, "flakepass:", plain(err))
		_, settings := errors.AsType[config.Problems](err)
		if _, line := errors.AsType[misuse](err); line || settings {
			return 2
		}
		return 1
	}
	return 0
}

// load reads the configuration from the file of --config and the environment.
func (a *app) load() (config.Config, error) {
	return config.Load(config.Options{File: a.file})
}

type configCommand struct {
	JSON bool `help:"Print JSON."`
}

func (c configCommand) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	return cfg.Dump(a.out, c.JSON)
}

type versionCommand struct {
	Short    bool `help:"Print the number alone." xor:"what"`
	Licences bool `help:"Print the licences of all that is linked into this program." xor:"what"`
}

func (c versionCommand) Run(a *app) error {
	var err error
	switch {
	case c.Licences:
		_, err = fmt.Fprint(a.out, release.Licences)
	case c.Short:
		_, err = fmt.Fprintln(a.out, release.Number())
	default:
		_, err = fmt.Fprintln(a.out, "flakepass", release.Version())
	}
	return err
}

type serveCommand struct{}

func (serveCommand) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	// Who reads the log may go away. Without this the next line would end the process, and with it
	// the requests under way; a log on a full disk does not either.
	signal.Ignore(syscall.SIGPIPE)
	log := run.OfInstance(telemetry.NewLog(a.errs, cfg.LogFormat, cfg.LogLevel))
	run.LogRedis(log)
	if _, err := run.AsOwner(a.ctx, cfg, log); err != nil { // which is in the log
		return err
	}
	err = run.Serve(a.ctx, cfg, a.out, a.errs, nil)
	if a.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // stopped before it had started
	}
	if err == nil {
		log.InfoContext(a.ctx, "stopped")
	}
	return err
}
