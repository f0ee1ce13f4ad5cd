package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	// The program is built while the tests run, which the go command does not see:
	// without this import it would take a result from its cache although the
	// program has changed.
	_ "github.com/flakepass/flakepass/internal/edge/cli"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// Main runs the tests of a package that starts the program, two at a time for each
// processor unless -parallel says otherwise: most of the time they wait, for a bound to
// pass or for another process. After them it calls what ends what they have shared.
func Main(m interface{ Run() int }, after ...func()) int {
	if err := overlap(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		for _, end := range after {
			end()
		}
	}()
	return testenv.Run(m)
}

// overlap sets how many tests run at a time, if nothing else did.
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

// Binary is the program as people run it.
func Binary(t testing.TB) string { t.Helper(); return testenv.Flakepass(t) }

// Environ is the variables as NAME=value, without anything of this process.
func Environ(vars map[string]string) []string {
	list := []string{}
	for name, value := range vars {
		list = append(list, name+"="+value)
	}
	return list
}

// A Result is what became of a command.
type Result struct {
	Out, Errs string
	Code      int
}

// Command runs the program to its end.
func Command(t testing.TB, vars map[string]string, in string, args ...string) Result {
	t.Helper()
	program := Binary(t) // the first who asks has it built, which takes time of its own
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = Environ(vars), strings.NewReader(in), &out, &errs
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return Result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// Must is command, for one that has to work.
func Must(t testing.TB, vars map[string]string, in string, args ...string) Result {
	t.Helper()
	r := Command(t, vars, in, args...)
	if r.Code != 0 {
		t.Fatalf("flakepass %s: exit code %d\n%s%s", strings.Join(args, " "), r.Code, r.Out, r.Errs)
	}
	return r
}
