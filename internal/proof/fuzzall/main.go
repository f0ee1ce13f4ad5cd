// Command fuzzall fuzzes every target of a module, several at a time, and keeps
// what it learns.
//
// The go command fuzzes one target of one package. It builds the package anew
// for each of its targets, and takes every core for it. Here each package is
// built once, and each target runs in one process with one worker, so that a
// few minutes are enough for all of them.
//
// Inputs that reach new code are kept outside the checkout and are where the
// next run begins. An input that fails is made small and written to testdata/fuzz
// beside its target, from where go test runs it ever after: commit it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzzall:", err)
		os.Exit(1)
	}
}

// command is main without the process. Its error says how many targets failed,
// or what kept it from fuzzing.
func command(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("fuzzall", flag.ContinueOnError)
	dir := flags.String("dir", ".", "`folder` of the module")
	tags := flags.String("tags", "", "build tags")
	only := flags.String("only", "", "only the targets that this `regexp` matches, as FOLDER.NAME")
	corpus := flags.String("corpus", "", "`folder` in which interesting inputs are kept; empty means the user's cache")
	own := flags.Bool("own", false, "follow inputs in the packages of this workspace only, and not in those that they import: much faster to build")
	r := runner{out: out}
	flags.DurationVar(&r.time, "time", 10*time.Minute, "how long each target is fuzzed")
	flags.IntVar(&r.atOnce, "at-once", 4*runtime.NumCPU(), "how many targets are fuzzed at a time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*only)
	switch {
	case err != nil:
		return fmt.Errorf("-only: %w", err)
	case r.time < time.Second || r.atOnce < 1 || flags.NArg() > 0:
		return errors.New("-time is at least 1s, -at-once at least 1, and there are no arguments")
	case *corpus == "":
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		*corpus = filepath.Join(cache, "flakepass-test", "fuzz")
	}
	if r.corpus, err = filepath.Abs(*corpus); err != nil {
		return err
	}
	targets, err := find(*dir)
	if err != nil {
		return err
	}
	chosenTargets := targets[:0]
	for _, t := range targets {
		if chosen.MatchString(t.String()) {
			chosenTargets = append(chosenTargets, t)
		}
	}
	if len(chosenTargets) == 0 {
		return errors.New("no such target")
	}
	if r.bin, err = os.MkdirTemp("", "flakepass-fuzz-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.bin) }()
	follow := []string{"-fuzz", "."}
	if *own {
		if follow, err = ownOnly(ctx, *dir); err != nil {
			return err
		}
	}
	if err := r.build(ctx, *dir, *tags, follow, chosenTargets); err != nil {
		return err
	}
	return r.fuzz(ctx, *dir, chosenTargets)
}
