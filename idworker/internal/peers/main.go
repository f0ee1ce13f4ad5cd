// Command peers compares idworker with the ID generators that Go programs use:
// throughput, CPU time, the time of single calls, and how far IDs are ahead of
// the clock. "make peers" runs it. It is a module of its own, so that none of
// them becomes a dependency of flakepass.
//
// Speed differs between machines, and on a shared machine between minutes.
// Nothing is held to a time: rounds are interleaved, floors are measured
// beside, and medians are reported with the smallest and the largest round. It
// needs Unix, which reports the CPU time of a process.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(args []string, out, progress io.Writer) error {
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(progress)
	rounds := f.Int("rounds", 5, "how often everything is measured")
	var t times
	f.DurationVar(&t.warm, "warm", 50*time.Millisecond, "what each measurement begins with")
	f.DurationVar(&t.run, "run", 200*time.Millisecond, "how long IDs and CPU time are counted")
	f.DurationVar(&t.look, "look", 80*time.Millisecond, "how long calls are timed afterwards")
	long := f.Duration("long", 10*time.Second, "how long minting in real time is sustained for the targets; 0 leaves the targets out")
	only := f.String("only", "", "regular expression: the generators to compare")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds %d: at least 1", *rounds)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	gens := slices.Concat(floors(), others(), ours(), roomyOthers(), roomyOurs())
	gens = slices.DeleteFunc(gens, func(g generator) bool { return !match.MatchString(g.name) })

	_, _ = fmt.Fprintf(out, "%s %s/%s, %d processors\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	all, err := measureAll(progress, gens, *rounds, t)
	if err != nil {
		return err
	}
	tables(out, gens, all)
	if *long == 0 {
		return nil
	}
	found, err := targets(progress, *long)
	if err != nil {
		return err
	}
	targetTable(out, found)
	return nil
}
