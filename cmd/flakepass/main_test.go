package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the scripts below testdata run the command as flakepass, in a
// process of its own.
func TestMain(m *testing.M) {
	testscript.Main(cleaner{m}, map[string]func(){"flakepass": main})
}

// A cleaner runs the tests, removes what [build] has made for them, and ends the
// browser.
type cleaner struct{ *testing.M }

func (c cleaner) Run() int {
	if err := overlap(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "flakepass-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	defer onlyChromium.close()
	build = sync.OnceValues(func() (string, error) { return buildInto(dir) })
	return c.M.Run()
}

// overlap lets two tests run at a time for each processor, unless -parallel
// says otherwise: most of the time they wait, for a bound to pass or for another
// process.
func overlap() error {
	flag.Parse()
	const parallel = "test.parallel"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallel })
	if given {
		return nil
	}
	return flag.Set(parallel, strconv.Itoa(2*runtime.GOMAXPROCS(0)))
}

// build makes the program as people run it, once and when it is needed.
var build func() (string, error)

func buildInto(dir string) (string, error) {
	path := filepath.Join(dir, "flakepass")
	cmd := exec.Command("go", "build", "-tags", "nomsgpack", "-ldflags", "-s -w", "-o", path, ".") //nolint:noctx // bounded by the timeout of the whole test
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

func binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// environ is the variables as NAME=value, without anything of this process.
func environ(vars map[string]string) []string {
	list := []string{}
	for name, value := range vars {
		list = append(list, name+"="+value)
	}
	return list
}

// A result is what became of a command.
type result struct {
	out, errs string
	code      int
}

// command runs the program to its end.
func command(t testing.TB, vars map[string]string, in string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ(vars), strings.NewReader(in), &out, &errs
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// must is command, for one that has to work.
func must(t testing.TB, vars map[string]string, in string, args ...string) result {
	t.Helper()
	r := command(t, vars, in, args...)
	if r.code != 0 {
		t.Fatalf("flakepass %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.errs)
	}
	return r
}
