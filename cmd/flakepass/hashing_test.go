//go:build unix

package main

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestPasswordsAreHashedBeside: the program hashes in a process of its own,
// survives its end, and leaves none behind, however it ends.
func TestPasswordsAreHashedBeside(t *testing.T) {
	t.Parallel()
	dir, password := t.TempDir(), newPassword()
	p := startProcess(t, dir, anyPort())
	c := newClient(t, p.public)
	c.want(c.register("alice", password), 201, "")
	first := hashProcess(t, p)
	if out, err := exec.CommandContext(t.Context(), "ps", "-o", "args=", "-p", strconv.Itoa(first)).CombinedOutput(); strings.TrimSpace(string(out)) != "flakepass hash" {
		t.Errorf("the process is %q, %v", out, err)
	}
	if !strings.Contains(string(metrics(t, p.ops)), "flakepass_hashing_process_cpu_seconds_total") {
		t.Error("the metrics do not tell what it uses")
	}

	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, patience, func() bool {
		a := c.do("POST", "/v1/login", object("username", "alice", "password", password))
		if a.status != 200 && a.status != 503 {
			t.Fatalf("a right password is told %d: %s", a.status, a.body)
		}
		return a.status == 200
	}, "nobody can log in any more")
	second := hashProcess(t, p)
	if second == first {
		t.Errorf("process %d was killed, and is there", first)
	}

	// A terminal tells both to stop, and so does systemd.
	if err := syscall.Kill(second, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.alive(c.login("alice", password))
	if now := hashProcess(t, p); now != second {
		t.Error("the process stopped before its server")
	}
	p.signal(t, syscall.SIGTERM)
	if code := p.end(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	vanishes(t, second)

	p = startProcess(t, dir, anyPort())
	last := hashProcess(t, p)
	p.signal(t, syscall.SIGKILL)
	p.end(t)
	vanishes(t, last)
}

// TestPasswordsAreHashedHere where no process is wanted.
func TestPasswordsAreHashedHere(t *testing.T) {
	t.Parallel()
	vars := anyPort()
	vars["FLAKEPASS_HASH_PROCESS"] = "off"
	p := startProcess(t, t.TempDir(), vars)
	if got := children(t, p); got != nil {
		t.Errorf("the server has the processes %v", got)
	}
	c, password := newClient(t, p.public), newPassword()
	c.want(c.register("alice", password), 201, "")
	c.alive(c.login("alice", password))
}

// hashProcess is the one process that the server has started.
func hashProcess(t *testing.T, p *process) int {
	t.Helper()
	all := children(t, p)
	if len(all) != 1 {
		t.Fatalf("the server has the processes %v, want one", all)
	}
	return all[0]
}

// children are the processes that the server has started.
func children(t *testing.T, p *process) (pids []int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-o", "pid=", "--ppid", strconv.Itoa(p.cmd.Process.Pid)).Output()
	if exit, ran := errors.AsType[*exec.ExitError](err); ran && exit.ExitCode() == 1 {
		return nil
	}
	if err != nil {
		t.Skipf("needs the ps of Linux: %v", err)
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

func vanishes(t *testing.T, pid int) {
	t.Helper()
	testenv.Eventually(t, patience, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }, "the process that hashes outlives its server")
}
