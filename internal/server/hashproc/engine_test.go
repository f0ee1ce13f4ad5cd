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
	if err := hashproc.Serve(os.Stdin, os.Stdout, account.Here{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func self() *exec.Cmd {
	cmd := exec.Command(os.Args[0]) //nolint:noctx // the end of its input ends it
	cmd.Env = []string{role + "=hash"}
	cmd.Stderr = os.Stderr
	return cmd
}

func begin(t *testing.T, tooLong time.Duration) (*hashproc.Engine, *testenv.Journal) {
	t.Helper()
	var log testenv.Journal
	e, err := hashproc.Begin(slog.New(slog.NewTextHandler(&log, nil)), self, tooLong)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e, &log
}

var (
	cheap = account.Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1}
	dear  = account.Params{MemoryKiB: 256 << 10, Iterations: 16, Parallelism: 1} // seconds
)

// TestComputesAsHere: what the process creates this one accepts, and the other
// way round, many at a time, and nothing but the password matches.
func TestComputesAsHere(t *testing.T) {
	t.Parallel()
	e, _ := begin(t, patience)
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
	e, log := begin(t, patience)
	first := pid(t, e)
	failed := make(chan error)
	go func() { _, err := e.Create("a passphrase", dear); failed <- err }()
	kill(t, first, syscall.SIGKILL)
	if err := <-failed; !errors.Is(err, account.ErrBusy) {
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

// TestHungProcessIsGivenUp: a process that does not answer is killed, so that
// no call waits for ever.
func TestHungProcessIsGivenUp(t *testing.T) {
	t.Parallel()
	e, _ := begin(t, 2*time.Second)
	first := pid(t, e)
	kill(t, first, syscall.SIGSTOP)
	if ok, err := e.Compare("x", "y"); ok || !errors.Is(err, account.ErrBusy) {
		t.Errorf("%t, %v, want ErrBusy", ok, err)
	}
	testenv.Eventually(t, patience, func() bool { return gone(first) }, "the process that does not answer is still there")
}

// TestCloseEndsTheProcess, with what it is computing.
func TestCloseEndsTheProcess(t *testing.T) {
	t.Parallel()
	e, log := begin(t, patience)
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
		e, err := hashproc.Begin(slog.New(slog.DiscardHandler), func() *exec.Cmd {
			return exec.Command(command[0], command[1:]...) //nolint:noctx // its end is waited for, or its input ends
		}, 2*time.Second)
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
