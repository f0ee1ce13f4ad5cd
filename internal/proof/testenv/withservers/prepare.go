//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// self is the variable by which the tests find this program, for those
// that need a server of their own: they ask it how to start one.
const self = "FLAKEPASS_TEST_WITHSERVERS"

// printCommand makes everything ready in dir for the server of that name to run
// on that port, starts nothing, and prints the command line that would: the
// program and each argument on a line of its own.
func printCommand(w io.Writer, name, dir string, port int) error {
	ctx, stop := interruptible()
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin"); err != nil {
		return err
	}
	k, ok := kindOf(name)
	if !ok {
		return fmt.Errorf("no server is called %q", name)
	}
	p, err := k.prepare(ctx, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	args, err := p.args(port)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err = fmt.Fprintln(w, strings.Join(append([]string{p.path}, args...), "\n"))
	return err
}
