// Package hashproc has passwords hashed by a process beside the server.
//
// A hash of Argon2id needs a CPU for some 25 ms, and Go interrupts a goroutine only after 10 ms. If
// as many hashes run as there are CPUs, a request that needs microseconds waits several times for
// 10 ms. Between processes, the kernel shares the CPUs, and a process that has used little CPU runs
// at once. The memory of the hashes, 19 MiB each, is garbage of that process, too.
//
// The two processes speak net/rpc over the standard input and output of the hashing process. That
// process ends when its input ends. So it also ends if the server is killed.
package hashproc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/rpc"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// An Engine is an [account.Engine] that has a process of its own compute. Should
// that end or stand still, what it was computing is [account.ErrBusy], and the next hash begins
// another one, at most one a second. It is safe for concurrent use.
type Engine struct {
	log     *slog.Logger
	command func() *exec.Cmd

	mu      sync.Mutex
	process *process // nil when there is none
	begun   time.Time
	lost    error // why there is none, until the next one has answered
	closed  bool
}

// A hash that takes long is not given up: 256 MiB in 16 passes, the most that a stored hash
// may ask for, are some seconds, and many on a busy machine. But while a call waits,
// the process is asked at each tick whether it is alive, and it answers that beside its
// hashes, because Go lets no goroutine run for longer than 10 ms. One that
// stands still, stopped by a signal or a debugger, is replaced. With the 5 s
// that a hash waits for its turn the answer comes before the server's own limit of 15 s.
// Ticks are counted and not the time, so that a pause of the whole machine is one of them.
const (
	tick    = time.Second
	still   = 6  // ticks without any answer, after which a process stands still
	begins  = 10 // the same for one that starts with the server, with all else that does
	tooLong = 60 // ticks that one hash may take
)

var _ account.Engine = (*Engine)(nil)

// New starts a process by what command returns, which must call [Serve] with
// its standard input and output. It returns an error if that cannot be started
// or does not answer.
func New(log *slog.Logger, command func() *exec.Cmd) (*Engine, error) {
	e := &Engine{log: log, command: command}
	p, err := e.running()
	if err != nil {
		return nil, err
	}
	var ok bool
	if err := p.call("Alive", Job{}, &ok, begins); err != nil {
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

// Warnings says that there is no process, and why. The next hash starts one.
func (e *Engine) Warnings() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost == nil {
		return nil
	}
	return []string{fmt.Sprintf("the process that hashes passwords has ended (%v), and no other has hashed one since; the next login starts one", e.lost)}
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
		late := time.AfterFunc(still*tick, p.end)
		defer late.Stop()
		<-p.gone
	}
}

func (e *Engine) call(method string, j Job, answer any) error {
	p, err := e.running()
	if err == nil {
		err = p.call(method, j, answer, still)
	}
	if _, answered := errors.AsType[rpc.ServerError](err); err == nil || answered {
		e.mu.Lock()
		e.lost = nil
		e.mu.Unlock()
		return err
	}
	if errors.Is(err, errGivenUp) {
		e.lose(p, err)
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
	go func() { e.lose(p, p.wait()) }()
	return p, nil
}

// lose gives p up, so that the next hash starts another. The first reason counts and is logged.
func (e *Engine) lose(p *process, why error) {
	e.mu.Lock()
	first := e.process == p
	if first {
		e.process = nil
		e.lost = cmp.Or(why, errors.New("without an error"))
	}
	e.mu.Unlock()
	if first {
		e.log.WarnContext(context.Background(), "the process that hashes passwords has ended; the next login starts another", "err", why)
	}
}

// A process is one that hashes.
type process struct {
	cmd    *exec.Cmd
	out    io.Closer // its answers
	client *rpc.Client
	why    atomic.Pointer[error] // for which it was given up, before it is ended; nil otherwise
	gone   chan struct{}         // closed when it has ended
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
	return &process{cmd: cmd, out: out, client: rpc.NewClient(pipes{out, in}), gone: make(chan struct{})}, nil
}

// wait returns when the process has ended, and every call that waited for an
// answer of it has failed.
func (p *process) wait() error {
	err := p.cmd.Wait()
	_ = p.client.Close()
	close(p.gone)
	if why := p.why.Load(); why != nil {
		return *why
	}
	return err
}

// end ends the process whatever it does. What waits for its answers fails at once, also if
// the system cannot end it.
func (p *process) end() {
	_ = p.cmd.Process.Kill()
	_ = p.out.Close()
}

// errGivenUp is the error of a call whose process was ended because of it.
var errGivenUp = errors.New("given up")

// call returns when the process has answered, or is given up: it has said nothing for
// that many ticks, not even that it is alive, or computes for too long.
func (p *process) call(method string, j Job, answer any, silence int) error {
	done := p.ask(method, j, answer)
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	var alive <-chan error // nil before it is asked
	for n, silent := 1, 0; ; n++ {
		select {
		case err := <-done:
			return err
		case <-ticks.C:
		}
		select {
		case err := <-alive:
			alive = nil
			if err == nil {
				silent = 0
			}
		default:
			silent++
		}
		if silent >= silence || n >= tooLong {
			why := fmt.Errorf("%w: no hash for %v, and no sign of life for %v", errGivenUp, time.Duration(n)*tick, time.Duration(silent)*tick)
			p.why.CompareAndSwap(nil, &why)
			p.end()
			if err := <-done; err == nil { // answer is not written to after this
				return nil // it came just now
			}
			return why
		}
		if alive == nil {
			alive = p.ask("Alive", Job{}, new(bool))
		}
	}
}

// ask does not wait: the pipe to a process that stands still is full after some questions.
func (p *process) ask(method string, j Job, answer any) <-chan error {
	done := make(chan error, 1)
	go func() { done <- p.client.Call(service+"."+method, j, answer) }()
	return done
}
