// Package hashproc has passwords hashed by a process beside the server.
//
// A hash of Argon2id occupies a thread for some 25 ms, and Go takes it off that
// thread only after 10 ms. With as many hashes as CPUs a request that needs
// microseconds waits for that several times over. Between processes it is the
// kernel that shares the CPUs, and it runs at once what has used little. The
// 19 MiB of each hash are collected there, too.
//
// The two talk net/rpc over the standard input and output of the process. That
// it reaches the end of its input is how it learns that the server is gone,
// however the server went.
package hashproc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/rpc"
	"os/exec"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// An Engine is an [account.Engine] that has a process of its own compute. Should
// that end, what it was computing is [account.ErrBusy], and the next hash begins
// another one, at most one a second. It is safe for concurrent use.
type Engine struct {
	log     *slog.Logger
	command func() *exec.Cmd
	tooLong time.Duration

	mu      sync.Mutex
	process *process // nil when there is none
	begun   time.Time
	closed  bool
}

// tooLong is when a process is given up that does not answer: 256 MiB in 16
// passes, the most that a stored hash may ask for, are some seconds.
const tooLong = time.Minute

var _ account.Engine = (*Engine)(nil)

// New starts a process by what command returns, which must call [Serve] with
// its standard input and output. It returns an error if that cannot be started
// or does not answer.
func New(log *slog.Logger, command func() *exec.Cmd) (*Engine, error) {
	return begin(log, command, tooLong)
}

func begin(log *slog.Logger, command func() *exec.Cmd, tooLong time.Duration) (*Engine, error) {
	e := &Engine{log: log, command: command, tooLong: tooLong}
	p, err := e.running()
	if err != nil {
		return nil, err
	}
	var ok bool
	if err := p.call("Alive", Job{}, &ok, min(tooLong, 10*time.Second)); err != nil {
		e.Close()
		return nil, fmt.Errorf("hashproc: the process does not answer: %w", err)
	}
	return e, nil
}

// Create is [account.Engine.Create].
func (e *Engine) Create(password string, p account.Params) (phc string, err error) {
	err = e.call("Create", Job{Password: password, Params: p}, &phc)
	return phc, err
}

// Compare is [account.Engine.Compare].
func (e *Engine) Compare(password, phc string) (ok bool, err error) {
	err = e.call("Compare", Job{Password: password, PHC: phc}, &ok)
	return ok, err
}

// PID is the process ID, or an error if there is no process now.
func (e *Engine) PID() (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.process == nil {
		return 0, errors.New("hashproc: no process")
	}
	return e.process.cmd.Process.Pid, nil
}

// Close ends the process, and returns when it has ended. What it is computing
// fails with ErrBusy.
func (e *Engine) Close() {
	e.mu.Lock()
	p := e.process
	e.process, e.closed = nil, true
	e.mu.Unlock()
	if p != nil {
		_ = p.client.Close() // the end of its input
		<-p.gone
	}
}

func (e *Engine) call(method string, j Job, answer any) error {
	p, err := e.running()
	if err == nil {
		err = p.call(method, j, answer, e.tooLong)
	}
	if _, answered := errors.AsType[rpc.ServerError](err); err == nil || answered {
		return err
	}
	return fmt.Errorf("hashproc: %w: %w", account.ErrBusy, err)
}

// running returns the process, and starts one if there is none.
func (e *Engine) running() (*process, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, errors.New("closed")
	case e.process != nil:
		return e.process, nil
	case time.Since(e.begun) < time.Second:
		return nil, errors.New("the last process began less than a second ago and ended")
	}
	e.begun = time.Now()
	p, err := start(e.command())
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	e.process = p
	go func() {
		err := p.wait()
		e.mu.Lock()
		expected := e.closed
		if e.process == p {
			e.process = nil
		}
		e.mu.Unlock()
		if !expected {
			e.log.WarnContext(context.Background(), "the process that hashes passwords has ended; the next login starts another", "err", err)
		}
	}()
	return p, nil
}

// A process is one that hashes.
type process struct {
	cmd    *exec.Cmd
	client *rpc.Client
	gone   chan struct{} // closed when it has ended
}

func start(cmd *exec.Cmd) (*process, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: cmd, client: rpc.NewClient(pipes{out, in}), gone: make(chan struct{})}, nil
}

// wait returns when the process has ended, and every call that waited for an
// answer of it has failed.
func (p *process) wait() error {
	err := p.cmd.Wait()
	_ = p.client.Close()
	close(p.gone)
	return err
}

func (p *process) call(method string, j Job, answer any, tooLong time.Duration) error {
	late := time.NewTimer(tooLong)
	defer late.Stop()
	c := p.client.Go(service+"."+method, j, answer, make(chan *rpc.Call, 1))
	select {
	case <-c.Done:
		return c.Error
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-c.Done // answer is not written to after this
		return fmt.Errorf("no answer for %v: %w", tooLong, c.Error)
	}
}
