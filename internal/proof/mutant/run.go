package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// limit bounds one run of tests. A mutant that makes them hang is caught, too.
const limit = 5 * time.Minute

// A verdict is what the tests said of a mutant.
type verdict struct {
	by    string // the test that went red, "" if none did
	why   string // the first thing that it said
	after time.Duration
}

// A runner runs tests of the module at root, which is a copy: it changes files there.
type runner struct {
	root string
	tags string
}

// try runs the tests of a mutant, and leaves the copy as it was. It fails if they
// could not be run.
func (r runner) try(ctx context.Context, m Mutant) (_ verdict, err error) {
	file := filepath.Join(r.root, filepath.FromSlash(m.File))
	text, err := os.ReadFile(file)
	if err != nil {
		return verdict{}, err
	}
	changed, err := m.apply(string(text))
	if err != nil {
		return verdict{}, err
	}
	defer func() { err = errors.Join(err, os.WriteFile(file, text, 0o600)) }()
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		return verdict{}, err
	}
	v, err := r.test(ctx, m)
	if err != nil {
		return verdict{}, fmt.Errorf("%s: %w", m.Name, err)
	}
	return v, nil
}

// test runs the tests that m names.
func (r runner) test(ctx context.Context, m Mutant) (verdict, error) {
	args := append([]string{
		"test", "-count", "1", "-failfast", "-vet", "off", "-tags", r.tags, "-trimpath", "-timeout", limit.String(), "-run", m.Test,
		"./" + m.Package,
	}, m.Args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.root
	began := time.Now()
	out, err := cmd.CombinedOutput()
	v := verdict{after: time.Since(began)}
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1 || ctx.Err() != nil) {
		return v, fmt.Errorf("%w\n%s", err, out)
	}
	return v, v.read(string(out), err != nil)
}

var (
	red      = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)
	said     = regexp.MustCompile(`(?m)^ +\S+_test\.go:\d+: (.*)|^panic: (.*)`)
	running  = regexp.MustCompile(`(?m)^\s+(Test\S+) \(`)
	unbuilt  = regexp.MustCompile(`\[(build|setup) failed\]`)
	untested = regexp.MustCompile(`\[no tests to run\]|\[no test files\]`)
)

// read finds out what the output of go test says.
func (v *verdict) read(out string, failed bool) error {
	switch {
	case unbuilt.MatchString(out):
		return fmt.Errorf("it does not compile:\n%s", out)
	case untested.MatchString(out):
		return errors.New("there is no such test")
	case !failed:
		return nil
	}
	// The innermost test that failed is named after the ones that hold it.
	if all := red.FindAllStringSubmatch(out, -1); all != nil {
		v.by = all[len(all)-1][1]
	} else if m := running.FindStringSubmatch(out); m != nil {
		v.by = m[1] // it was running when the time was over
	} else {
		v.by = "the end of the process"
	}
	if m := said.FindStringSubmatch(out); m != nil {
		v.why = strings.TrimSpace(m[1] + m[2])
	}
	return nil
}
