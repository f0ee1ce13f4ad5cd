//go:build unix

package deploytest

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestPasswordsAreHashedBeside: the program hashes in a process of its own,
// survives its end, and leaves none behind, however it ends.
func TestPasswordsAreHashedBeside(t *testing.T) {
	t.Parallel()
	dir, password := t.TempDir(), e2e.NewPassword()
	p := e2e.StartProcess(t, dir, e2e.AnyPort())
	c := e2e.NewClient(t, p.Public)
	c.Want(c.Register("alice", password), 201, "")
	first := hashProcess(t, p)
	if out, err := exec.CommandContext(t.Context(), testenv.Program(t, "ps"), "-o", "args=", "-p", strconv.Itoa(first)).CombinedOutput(); strings.TrimSpace(string(out)) != "flakepass hash" {
		t.Errorf("the process is %q, %v", out, err)
	}
	if !strings.Contains(string(e2e.Metrics(t, p.Ops)), "flakepass_hashing_process_cpu_seconds_total") {
		t.Error("the metrics do not say what it uses")
	}

	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, e2e.Patience, func() bool {
		a := c.Do("POST", "/v1/login", e2e.Object("username", "alice", "password", password))
		if a.Status != 200 && a.Status != 503 {
			t.Fatalf("a right password is answered %d: %s", a.Status, a.Body)
		}
		return a.Status == 200
	}, "no user can log in any more")
	second := hashProcess(t, p)
	if second == first {
		t.Errorf("process %d was killed, and is there", first)
	}

	// A terminal signals both to stop, and so does systemd.
	if err := syscall.Kill(second, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.Alive(c.Login("alice", password))
	if now := hashProcess(t, p); now != second {
		t.Error("the process stopped before its server")
	}
	p.Signal(t, syscall.SIGTERM)
	if code := p.End(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	vanishes(t, second)

	p = e2e.StartProcess(t, dir, e2e.AnyPort())
	last := hashProcess(t, p)
	p.Signal(t, syscall.SIGKILL)
	p.End(t)
	vanishes(t, last)
}

// TestLoginsDoNotHangOnAStillHashProcess: each of them is answered, with 503 or, if it
// was in the queue, from the process that takes over. They hung for a minute.
func TestLoginsDoNotHangOnAStillHashProcess(t *testing.T) {
	t.Parallel()
	password := e2e.NewPassword()
	p := e2e.StartProcess(t, t.TempDir(), e2e.AnyPort())
	c, ops := e2e.NewClient(t, p.Public), e2e.NewClient(t, p.Ops)
	c.Want(c.Register("alice", password), 201, "")
	first := hashProcess(t, p)
	if err := syscall.Kill(first, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	login := func() e2e.Answer {
		return c.Do("POST", "/v1/login", e2e.Object("username", "alice", "password", password))
	}
	c.Want(login(), 503, "busy")
	if ready := ops.Want(ops.Do("GET", "/readyz", ""), 200, ""); !strings.Contains(string(ready.Body), "no sign of life") {
		t.Errorf("no process hashes, and /readyz says %s", ready.Body)
	}
	testenv.Eventually(t, e2e.Patience, func() bool { return login().Status == 200 }, "no user can log in any more")
	if ready := ops.Want(ops.Do("GET", "/readyz", ""), 200, ""); strings.Contains(string(ready.Body), "sign of life") {
		t.Errorf("another process hashes, and /readyz says %s", ready.Body)
	}
	vanishes(t, first)
	if n := strings.Count(p.Log.String(), "hashes passwords has ended"); n != 1 {
		t.Errorf("the log says so %d times\n%s", n, p.Log)
	}

	if err := syscall.Kill(hashProcess(t, p), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if a := login(); a.Status != 200 && a.Status != 503 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	all.Wait()
}

// TestPasswordsAreHashedHere where no process is wanted.
func TestPasswordsAreHashedHere(t *testing.T) {
	t.Parallel()
	vars := e2e.AnyPort()
	vars["FLAKEPASS_HASH_PROCESS"] = "off"
	p := e2e.StartProcess(t, t.TempDir(), vars)
	if got := p.Children(t); got != nil {
		t.Errorf("the server has the processes %v", got)
	}
	c, password := e2e.NewClient(t, p.Public), e2e.NewPassword()
	c.Want(c.Register("alice", password), 201, "")
	c.Alive(c.Login("alice", password))
}

// hashProcess is the one process that the server has started.
func hashProcess(t *testing.T, p *e2e.Process) int {
	t.Helper()
	all := p.Children(t)
	if len(all) != 1 {
		t.Fatalf("the server has the processes %v, want one", all)
	}
	return all[0]
}

func vanishes(t *testing.T, pid int) {
	t.Helper()
	testenv.Eventually(t, e2e.Patience, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }, "the process that hashes outlives its server")
}
