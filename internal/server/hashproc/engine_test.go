//go:build unix

package hashproc_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/hashproc"
)

const (
	role     = "FLAKEPASS_TEST_ROLE"
	patience = 30 * time.Second
)

// TestMain is also the process that hashes.
func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	if err := hashproc.Serve(os.Stdin, os.Stdout, slow{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// slow computes the password "slowly" for longer than a process may stand still, and is killed by "kill".
type slow struct{ account.Here }

func (s slow) Create(password string, p account.Params) (string, error) {
	if password == "slowly" {
		<-time.After(8 * time.Second)
	}
	if password == "kill" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return s.Here.Create(password, p)
}

func self() *exec.Cmd {
	cmd := exec.Command(os.Args[0]) //nolint:noctx // the end of its input ends it
	cmd.Env = []string{role + "=hash"}
	cmd.Stderr = os.Stderr
	return cmd
}

func begin(t *testing.T) (*hashproc.Engine, *testenv.Journal) {
	t.Helper()
	var log testenv.Journal
	e, err := hashproc.New(slog.New(slog.NewTextHandler(&log, nil)), self)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e, &log
}

var cheap = account.Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1}

// TestComputesAsHere: what the process creates this one accepts, and the other
// way round, many at a time, and nothing but the password matches.
func TestComputesAsHere(t *testing.T) {
	t.Parallel()
	e, _ := begin(t)
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			password := fmt.Sprint("a passphrase of ", i)
			there, err := e.Create(password, cheap)
			if err != nil {
				t.Error(err)
				return
			}
			here, err := account.Here{}.Create(password, cheap)
			if err != nil {
				t.Error(err)
				return
			}
			for _, c := range []struct {
				engine        account.Engine
				password, phc string
				want          bool
			}{
				{account.Here{}, password, there, true},
				{e, password, here, true},
				{e, password, there, true},
				{e, password + "!", here, false},
				{e, "", there, false},
			} {
				if ok, err := c.engine.Compare(c.password, c.phc); ok != c.want || err != nil {
					t.Errorf("%T: %q against %s: %t, %v; want %t", c.engine, c.password, c.phc, ok, err, c.want)
				}
			}
		})
	}
	all.Wait()
	if ok, err := e.Compare("x", "$argon2id$no"); ok || err == nil || errors.Is(err, account.ErrBusy) {
		t.Errorf("what is no hash: %t, %v; want an error that is returned, and not ErrBusy", ok, err)
	}
}

// TestEndedProcessIsBusyAndReplaced: a call that waits for a process that dies fails
// with ErrBusy, and does not say that the password is wrong; the log says so, and
// another process takes over.
func TestEndedProcessIsBusyAndReplaced(t *testing.T) {
	t.Parallel()
	e, log := begin(t)
	first := pid(t, e)
	if _, err := e.Create("kill", cheap); !errors.Is(err, account.ErrBusy) {
		t.Errorf("a hash whose process was killed: %v, want ErrBusy", err)
	}
	testenv.Eventually(t, patience, func() bool {
		phc, err := e.Create("a passphrase", cheap)
		if err != nil && !errors.Is(err, account.ErrBusy) {
			t.Fatalf("%v, want ErrBusy", err)
		}
		ok := false
		if err == nil {
			ok, err = account.Here{}.Compare("a passphrase", phc)
		}
		return ok && err == nil
	}, "no other process takes over")
	if second := pid(t, e); second == first {
		t.Errorf("process %d was killed, and computes", first)
	}
	if n := strings.Count(log.String(), "has ended"); n != 1 {
		t.Errorf("one process has ended, the log says so %d times:\n%s", n, log)
	}
}

// TestStillProcessIsReplaced: each call that waits for a process that stands still, or cannot
// even hand its question over, fails with ErrBusy, and another process takes over.
func TestStillProcessIsReplaced(t *testing.T) {
	t.Parallel()
	e, log := begin(t)
	first := pid(t, e)
	kill(t, first, syscall.SIGSTOP)
	if w := e.Warnings(); w != nil {
		t.Errorf("nobody has noticed, and %q", w)
	}
	var all sync.WaitGroup
	for _, password := range []string{"x", "y", strings.Repeat("more than a pipe holds ", 100_000), "z"} {
		all.Go(func() {
			if ok, err := e.Compare(password, "y"); ok || !errors.Is(err, account.ErrBusy) {
				t.Errorf("%.20s: %t, %v, want ErrBusy", password, ok, err)
			}
		})
	}
	all.Wait()
	if w := e.Warnings(); len(w) != 1 || !strings.Contains(w[0], "no sign of life for 6s") {
		t.Errorf("there is no process, and the warnings are %q", w)
	}
	testenv.Eventually(t, patience, func() bool { return gone(first) }, "the process that does not answer is still there")
	testenv.Eventually(t, patience, func() bool { _, err := e.Create("a passphrase", cheap); return err == nil }, "no other process takes over")
	if w := e.Warnings(); w != nil {
		t.Errorf("another has taken over, and %q", w)
	}
	if n := strings.Count(log.String(), "has ended"); n != 1 {
		t.Errorf("one process has stood still, the log says so %d times:\n%s", n, log)
	}
}

// TestSlowHashIsAwaited: a process that computes for long does not stand still.
func TestSlowHashIsAwaited(t *testing.T) {
	t.Parallel()
	e, log := begin(t)
	if _, err := e.Create("slowly", cheap); err != nil || log.String() != "" {
		t.Errorf("%v\n%s", err, log)
	}
}

// TestCloseEndsAStillProcess: a server ends although the process that hashes does nothing,
// not even see the end of its input.
func TestCloseEndsAStillProcess(t *testing.T) {
	t.Parallel()
	e, _ := begin(t)
	process := pid(t, e)
	kill(t, process, syscall.SIGSTOP)
	e.Close()
	if !gone(process) {
		t.Error("the process outlives Close")
	}
}

// TestCloseEndsTheProcess, with what it is computing.
func TestCloseEndsTheProcess(t *testing.T) {
	t.Parallel()
	e, log := begin(t)
	process := pid(t, e)
	failed := make(chan error)
	go func() { _, err := e.Create("a passphrase", cheap); failed <- err }()
	e.Close()
	if err := <-failed; err != nil && !errors.Is(err, account.ErrBusy) {
		t.Errorf("a hash during Close: %v, want none or ErrBusy", err)
	}
	if !gone(process) {
		t.Error("the process outlives Close")
	}
	if _, err := e.Create("a passphrase", cheap); !errors.Is(err, account.ErrBusy) {
		t.Errorf("after Close: %v, want ErrBusy", err)
	}
	if _, err := e.PID(); err == nil {
		t.Error("after Close there is a process ID")
	}
	if strings.Contains(log.String(), "has ended") {
		t.Errorf("an end that was asked for is no event:\n%s", log)
	}
}

// TestWhatDoesNotAnswerIsNoEngine: a server learns at its start that it must
// hash by itself.
func TestWhatDoesNotAnswerIsNoEngine(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"true"}, {"cat"}, {"sleep", "1000"}, {"/no/such/file"}} {
		e, err := hashproc.New(slog.New(slog.DiscardHandler), func() *exec.Cmd {
			return exec.Command(command[0], command[1:]...) //nolint:noctx // its end is waited for, or its input ends
		})
		if err == nil {
			e.Close()
			t.Errorf("%q hashes", command)
		}
	}
}

func pid(t *testing.T, e *hashproc.Engine) int {
	t.Helper()
	n, err := e.PID()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
