//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// grace is how long an interrupted command may take to end. "go test" waits
// for its test binaries.
const grace = 10 * time.Second

// An interruption is the cause of a context that a signal has ended.
type interruption struct{ syscall.Signal }

func (i interruption) Error() string { return "interrupted: " + i.String() }

// interruptible returns a context that ends, with an [interruption] as its
// cause, when the first SIGINT, SIGTERM or SIGHUP arrives. More of them are
// ignored until stop is called, so that an impatient second Ctrl-C does not
// leave servers behind.
func interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			if s, ok := s.(syscall.Signal); ok {
				cancel(interruption{s})
			}
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil); signal.Stop(signals) }
}

// runCommand runs a command and returns its exit status, or 128 and the
// number of the signal that ended it or us. The command has a process group of
// its own: an interruption reaches all of it, test binaries included, and what
// has not ended after the grace is killed.
func runCommand(ctx context.Context, command, environment []string) int {
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // an interruption ends the whole group, below
	cmd.Env, cmd.Stdout, cmd.Stderr = environment, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "withservers:", err)
		return 127
	}
	group := -cmd.Process.Pid
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }() // the status is read below
	select {
	case <-done:
		return statusOf(cmd.ProcessState)
	case <-ctx.Done():
	}
	s := syscall.SIGTERM
	if i, ok := errors.AsType[interruption](context.Cause(ctx)); ok {
		s = i.Signal
	}
	_ = syscall.Kill(group, s)
	select {
	case <-done:
	case <-time.After(grace):
	}
	_ = syscall.Kill(group, syscall.SIGKILL) // stragglers; often none is left
	<-done
	return 128 + int(s)
}

func statusOf(state *os.ProcessState) int {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return state.ExitCode()
}
