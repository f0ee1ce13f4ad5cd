package e2e

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/run"
)

// A Process is the program as an operator runs it.
type Process struct {
	Public, Ops, Link string
	Out, Log          *testenv.Journal
	Cmd               *exec.Cmd
	Ended             chan struct{} // closed when the process is gone
}

var (
	apiLine = regexp.MustCompile(`API +https?://(\S+)`)
	opsLine = regexp.MustCompile(`ops +http://(\S+)`)
	// Setup finds the whole link that creates the first admin.
	Setup = regexp.MustCompile(`http://\S+/console/setup\?code=\S+`)
)

// StartProcess runs `flakepass serve` in dir with those variables and no
// others, until it prints where it listens.
func StartProcess(t testing.TB, dir string, vars map[string]string) *Process {
	t.Helper()
	return StartProgram(t, Binary(t), dir, vars)
}

// StartProgram is startProcess for the program at path.
func StartProgram(t testing.TB, path, dir string, vars map[string]string) *Process {
	t.Helper()
	p := LaunchProgram(t, path, dir, vars)
	p.Ready(t)
	return p
}

// LaunchProgram is StartProgram that does not wait until the program is ready.
func LaunchProgram(t testing.TB, path, dir string, vars map[string]string) *Process {
	t.Helper()
	p := &Process{Out: &testenv.Journal{}, Log: &testenv.Journal{}, Ended: make(chan struct{})}
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context()))
	p.Cmd = exec.CommandContext(ctx, path, "serve")
	p.Cmd.Dir, p.Cmd.Env, p.Cmd.Stdout, p.Cmd.Stderr = dir, Environ(vars), p.Out, p.Log
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(p.Ended); _ = p.Cmd.Wait() }()
	t.Cleanup(func() {
		kill()
		<-p.Ended
		NoToken(t, "what a server printed", p.Out.String()+p.Log.String())
	})
	return p
}

// Ready waits until the program has printed where it listens, and is ready.
func (p *Process) Ready(t testing.TB) {
	t.Helper()
	testenv.Eventually(t, Patience, func() bool {
		select {
		case <-p.Ended:
			t.Fatalf("exit code %d\n%s%s", p.Cmd.ProcessState.ExitCode(), p.Out, p.Log)
		default:
		}
		out := p.Out.String()
		public, ops := apiLine.FindStringSubmatch(out), opsLine.FindStringSubmatch(out)
		if public == nil || ops == nil || !strings.Contains(out, "worker number") {
			return false
		}
		p.Public, p.Ops = public[1], ops[1]
		return true
	}, "the program does not say where it listens")
	c := NewClient(t, p.Ops)
	testenv.Eventually(t, Patience, func() bool { return c.Do("GET", "/readyz", "").Status == 200 }, "the program is not ready")
	p.Link = Setup.FindString(p.Out.String()) // printed in one go with the addresses
}

// End waits for the end of the process and returns its exit code.
func (p *Process) End(t testing.TB) int {
	t.Helper()
	select {
	case <-p.Ended:
	case <-time.After(Patience):
		t.Fatalf("the process does not end\n%s", p.Log)
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Signal sends a signal to the process.
func (p *Process) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// Children are the processes that the server has started.
func (p *Process) Children(t testing.TB) (pids []int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testenv.Program(t, "ps"), "-o", "pid=", "--ppid", strconv.Itoa(p.Cmd.Process.Pid)).Output()
	if exit, ran := errors.AsType[*exec.ExitError](err); ran && exit.ExitCode() == 1 {
		return nil
	}
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	for _, field := range strings.Fields(string(out)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// AnyPort is all that has to be set where the default ports may be taken, and
// where all who log in come from one address.
func AnyPort() map[string]string {
	return map[string]string{"FLAKEPASS_LISTEN": "127.0.0.1:0", "FLAKEPASS_OPS_LISTEN": "127.0.0.1:0", "FLAKEPASS_THROTTLE": "off", "FLAKEPASS_SERVICE_PASSWORD_LOGIN": "on"}
}

// HolderOf is the name under which a process reports.
func HolderOf(p *Process) string {
	host, _, _ := strings.Cut(run.Holder(), ":")
	return host + ":" + strconv.Itoa(p.Cmd.Process.Pid)
}
