package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
)

// A runner builds and runs targets.
type runner struct {
	out    io.Writer
	time   time.Duration // for each target
	atOnce int
	corpus string // absolute path
	bin    string // where the test programs are
}

// program is the path of the test program of a package.
func (r *runner) program(folder string) string {
	return filepath.Join(r.bin, strings.ReplaceAll(folder, "/", "_")+".test")
}

// ownOnly is what has a test program report which code of the workspace an input reaches, as
// -fuzz does it for all code. The rest is then what other tests have compiled already.
func ownOnly(ctx context.Context, dir string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m")
	cmd.Dir = dir
	said, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	var flags []string
	for module := range strings.FieldsSeq(string(said)) {
		flags = append(flags, "-gcflags="+module+"/...=-d=libfuzzer")
	}
	return flags, nil
}

// build builds the test program of each package once, which follow tells to report which
// code an input reaches.
func (r *runner) build(ctx context.Context, dir, tags string, follow []string, targets []target) error {
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2) // each go command has workers of its own
	built := make(map[string]bool)
	for _, t := range targets {
		if built[t.folder] {
			continue
		}
		built[t.folder] = true
		group.Go(func() error {
			//nolint:gosec // the folder is one of the module's own
			cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-c"}, follow,
				[]string{"-tags", tags, "-ldflags", "-s -w", "-o", r.program(t.folder), "./" + t.folder})...)
			cmd.Dir = dir
			if said, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%s does not build: %w\n%s", t.folder, err, said)
			}
			return nil
		})
	}
	err := group.Wait()
	_, _ = fmt.Fprintf(r.out, "built %d packages in %s; %d targets, %s each, %d at a time; inputs are kept in %s\n",
		len(built), time.Since(began).Round(time.Second), len(targets), r.time, r.atOnce, r.corpus)
	return err
}

// An outcome is what became of one target.
type outcome struct {
	execs, fresh, total string // as Go counts them; empty if it never did, or "skipped"
	failing             string // path of the input that fails; empty if none
	err                 error  // why there is no outcome, or nil
	said                string
}

// fuzz runs all targets and prints a line for each as it ends. Its error tells
// how many of them failed.
func (r *runner) fuzz(ctx context.Context, dir string, targets []target) error {
	table := tabwriter.NewWriter(r.out, 48, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "target\texecs\tnew\tcorpus\t")
	var mu sync.Mutex
	failed := 0
	var group errgroup.Group
	group.SetLimit(r.atOnce)
	for _, t := range targets {
		group.Go(func() error {
			o := r.one(ctx, dir, t)
			mu.Lock()
			defer mu.Unlock()
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t\n", t, o.execs, o.fresh, o.total)
			_ = table.Flush()
			switch {
			case o.failing != "":
				failed++
				_, _ = fmt.Fprintf(r.out, "%s FAILS with %s\n%s", t, o.failing, o.said)
			case o.err != nil:
				failed++
				_, _ = fmt.Fprintf(r.out, "%s FAILS: %v\n%s", t, o.err, o.said)
			}
			return nil
		})
	}
	_ = group.Wait()
	if failed > 0 {
		return fmt.Errorf("%d of %d targets failed", failed, len(targets))
	}
	return ctx.Err()
}

var (
	counted = regexp.MustCompile(`execs: (\d+) .*new interesting: (\d+) \(total: (\d+)\)`)
	written = regexp.MustCompile(`Failing input written to (\S+)`)
	begun   = regexp.MustCompile(`gathering baseline coverage: (\d+/\d+)`)
	known   = regexp.MustCompile(`failure while testing seed corpus entry: (\S+)`)
)

// one runs one target in its package's folder, so that Go finds its inputs
// there, and writes a failing one there.
func (r *runner) one(ctx context.Context, dir string, t target) (o outcome) {
	if err := ctx.Err(); err != nil {
		return outcome{err: err}
	}
	inputs := filepath.Join(r.corpus, filepath.FromSlash(t.folder))
	if err := os.MkdirAll(inputs, 0o750); err != nil {
		return outcome{err: err}
	}
	// Beyond this it hangs: Go gives up on one input after a second or so.
	ctx, cancel := context.WithTimeout(ctx, r.time+2*time.Minute)
	defer cancel()
	// Making an input small takes all of a short time, and tries nothing new: 12 inputs in 10 s
	// for a target that takes 500 without it.
	small := min(r.time/60, 10*time.Second)
	//nolint:gosec // the program is the one that was built above
	cmd := exec.CommandContext(ctx, r.program(t.folder), "-test.run=^$", "-test.v", "-test.fuzz=^"+t.name+"$", "-test.fuzztime="+r.time.String(),
		"-test.fuzzminimizetime="+small.String(), "-test.parallel=1", "-test.fuzzcachedir="+inputs, "-test.paniconexit0")
	cmd.Dir = filepath.Join(dir, filepath.FromSlash(t.folder))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	said, err := cmd.CombinedOutput()
	o = judge(string(said), err)
	if o.failing != "" {
		o.failing = filepath.Join(cmd.Dir, filepath.FromSlash(o.failing))
	}
	return o
}

// judge reads what the test program said. Its own time being over is no failure,
// although Go reports it as one now and then (https://go.dev/issue/75804).
func judge(said string, err error) (o outcome) {
	o.said = said
	if all := counted.FindAllStringSubmatch(said, -1); len(all) > 0 {
		last := all[len(all)-1]
		o.execs, o.fresh, o.total = last[1], last[2], last[3]
	}
	switch m, k := written.FindStringSubmatch(said), known.FindStringSubmatch(said); {
	case m != nil:
		o.failing = m[1]
	case k != nil:
		o.failing = filepath.Join("testdata", "fuzz", filepath.FromSlash(k[1]))
	case err != nil && begun.MatchString(said) && onlyOverTime(said):
	case err != nil:
		o.err = err
	case o.execs == "" && strings.Contains(said, "--- SKIP: "):
		o.execs = "skipped" // a server that it needs is not on this machine
	case o.execs == "" && begun.MatchString(said):
		// The time was over before all that is kept had been run again.
		all := begun.FindAllStringSubmatch(said, -1)
		o.execs = all[len(all)-1][1] + " of old"
	case o.execs == "":
		o.err = errors.New("it ran nothing")
	}
	return o
}

// onlyOverTime reports whether the one complaint is that the time is over.
func onlyOverTime(said string) bool {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	complaints := lines[:0]
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line != "" && line != "FAIL" && !strings.HasPrefix(line, "fuzz: ") && !strings.HasPrefix(line, "--- FAIL: ") && !strings.HasPrefix(line, "=== ") {
			complaints = append(complaints, line)
		}
	}
	return len(complaints) == 1 && complaints[0] == "context deadline exceeded"
}
