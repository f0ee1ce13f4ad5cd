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
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	only := flag.String("only", "", "a regular `expression` for the names of the mutants to try")
	root := flag.String("root", ".", "the `folder` of the module")
	tags := flag.String("tags", "nomsgpack", "build `tags`")
	flag.Parse()
	if err := run(ctx, os.Stdout, *root, *tags, *only); err != nil {
		fmt.Fprintln(os.Stderr, "mutant:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, root, tags, only string) error {
	pick, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var chosen []Mutant
	for _, m := range all() {
		if pick.MatchString(m.Name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no mutant is called %q", only)
	}
	if root, err = filepath.Abs(root); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "flakepass-mutant-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := copyModule(root, scratch); err != nil {
		return err
	}
	return runner{root: scratch, tags: tags}.all(ctx, out, chosen)
}

// all tries mutants and prints the table. It goes on after a failure.
func (r runner) all(ctx context.Context, out io.Writer, mutants []Mutant) error {
	var errs []error
	green := make(map[string]error) // without a mutant, by package and test
	const line = "%-44s %-22s %-52s %6v  %s\n"
	fmt.Fprintf(out, line, "mutant", "tests of", "caught by", "after", "it says")
	for _, m := range mutants {
		key := fmt.Sprint(m.Package, m.Test, m.Args)
		if _, ok := green[key]; !ok {
			green[key] = r.green(ctx, m)
		}
		err := green[key]
		var v verdict
		if err == nil {
			v, err = r.try(ctx, m)
		}
		if err == nil && v.by == "" {
			err = fmt.Errorf("%s: no test noticed; the tests %s of %s are green", m.Name, m.Test, m.Package)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			errs = append(errs, err)
			v.by, v.why = "NOBODY", ""
		}
		fmt.Fprintf(out, line, m.Name, m.Package, v.by, v.after.Round(100*time.Millisecond), cut(v.why))
	}
	fmt.Fprintf(out, "%d of %d mutants caught\n", len(mutants)-len(errs), len(mutants))
	return errors.Join(errs...)
}

// green is an error if the tests of m are red without it.
func (r runner) green(ctx context.Context, m Mutant) error {
	v, err := r.test(ctx, m)
	switch {
	case err != nil:
		return fmt.Errorf("%s: the tests %s of %s: %w", m.Name, m.Test, m.Package, err)
	case v.by != "":
		return fmt.Errorf("%s: %s of %s is red without a mutant: %s", m.Name, v.by, m.Package, v.why)
	}
	return nil
}

// cut shortens what a test said to what fits on a line.
func cut(s string) string {
	const most = 70
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
