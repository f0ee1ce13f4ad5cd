//go:build unix

// Package server runs one real server as a child process, on loopback, for
// tests. The child ends with its parent, however the parent ends.
package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// grace is how long a server may take to end after SIGTERM. MySQL writes its
// buffers out; a second or two is usual on a busy machine.
const grace = 30 * time.Second

// ErrNotRunning is returned by the verbs of a [Process] that needs a living
// child and has none.
var ErrNotRunning = errors.New("not running")

// A Process is a server program that can be started again after it ended. Set
// the fields once, before the first Start. Its methods are not safe for
// concurrent use.
type Process struct {
	// Path and Args are the program and its arguments, without the program's
	// own name.
	Path string
	Args []string

	// Env is the child's environment, as NAME=value. nil means the parent's.
	// TMPDIR is always a folder in Dir.
	Env []string

	// Dir is the working folder, which no other server has. The output of all
	// runs goes to the file "log" in it.
	Dir string

	child *os.Process
	done  chan struct{}
	exit  int // valid when done is closed
}

// Start starts the program and does not wait for it to be ready; [Process.Wait]
// does. The error names the program.
//
// The kernel ends the child when the thread that started it ends, so one
// goroutine holds a thread for as long as the child lives.
func (p *Process) Start() error {
	if p.Running() {
		return fmt.Errorf("server: start %s: already running", p.Path)
	}
	env, err := Private(p.Env, p.Dir)
	if err != nil {
		return fmt.Errorf("server: start %s: %w", p.Path, err)
	}
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("server: start %s: %w", p.Path, err)
	}
	cmd := exec.Command(p.Path, p.Args...) //nolint:noctx // ended by Stop and Kill, which let it finish its writes
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.Dir, env, log, log
	cmd.SysProcAttr = attributes(syscall.SIGKILL)

	started, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in the log
			p.exit = cmd.ProcessState.ExitCode()
		}
		_ = log.Close()
		close(done)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("server: start %s: %w", p.Path, err)
	}
	p.child, p.done = cmd.Process, done
	return nil
}

// Private returns env, or the environment of this process if env is nil, with
// TMPDIR naming the folder "tmp" in dir, which it makes. Two servers must not
// share one: a MariaDB that starts deletes the temporary tables that it finds
// there, also those of another MariaDB that runs.
func Private(env []string, dir string) ([]string, error) {
	if env == nil {
		env = os.Environ()
	}
	dir, err := filepath.Abs(filepath.Join(dir, "tmp"))
	if err != nil {
		return nil, err
	}
	return append(slices.Clip(env), "TMPDIR="+dir), os.MkdirAll(dir, 0o700)
}

// Running reports whether the child lives. A paused child does.
func (p *Process) Running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// ExitCode returns how the newest child ended: its status, or -1 if a signal
// ended it or it still runs.
func (p *Process) ExitCode() int {
	if p.done == nil || p.Running() {
		return -1
	}
	return p.exit
}

// PID returns the process ID of the newest child, 0 before the first Start.
func (p *Process) PID() int {
	if p.child == nil {
		return 0
	}
	return p.child.Pid
}

// Stop ends the child with SIGTERM, and with SIGKILL if it takes longer than
// half a minute. It returns once the child has ended and its port is free. A
// child that does not run is no error: Stop is what a cleanup calls.
func (p *Process) Stop() error {
	if !p.Running() {
		return nil
	}
	_ = p.child.Signal(syscall.SIGTERM)
	_ = p.child.Signal(syscall.SIGCONT) // a paused child receives SIGTERM only now
	select {
	case <-p.done:
		return nil
	case <-time.After(grace):
		_ = p.Kill()
		return fmt.Errorf("server: stop %s: killed after %v", p.Path, grace)
	}
}

// Kill ends the child with SIGKILL: nothing is written out. It returns once the
// child has ended, or [ErrNotRunning].
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// Pause stops the child where it is, with SIGSTOP: connections stay open and
// no request is answered. It returns once every thread of the child stands still.
func (p *Process) Pause() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return awaitStopped(p.child.Pid)
}

// Resume lets a paused child go on.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

// Signal sends s to the child.
func (p *Process) Signal(s syscall.Signal) error { return p.signal(s) }

func (p *Process) signal(s syscall.Signal) error {
	if !p.Running() {
		return fmt.Errorf("server: %v %s: %w", s, p.Path, ErrNotRunning)
	}
	if err := p.child.Signal(s); errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("server: %v %s: %w", s, p.Path, ErrNotRunning) // a moment ago
	} else if err != nil {
		return fmt.Errorf("server: %v %s: %w", s, p.Path, err)
	}
	return nil
}

// Log returns all that the program printed, in all its runs.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (p *Process) logFile() string { return filepath.Join(p.Dir, "log") }
