//go:build unix

// The tests are inside package main, which cannot be imported. The test binary
// is the command itself when its environment says so.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

const beCommand = "WITHSERVERS_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beCommand) != "" {
		main()
		os.Exit(0) // or a main that returns would run these tests, each of which runs it
	}
	os.Exit(m.Run())
}

func withservers(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	// A race-enabled binary sleeps a second at its exit unless GORACE says otherwise.
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), beCommand+"=1", "GORACE=atexit_sleep_ms=0", "FLAKEPASS_TEST_MEMORY="+dir, "TMPDIR="+dir)
	cmd.Stderr = t.Output()
	// A process that was left behind holds the pipe open; that is no reason to wait.
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func TestStatusIsTheCommands(t *testing.T) {
	testenv.Program(t, "redis-server")
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 128 + 9} {
		cmd := withservers(t, "-only", "redis", "--", "sh", "-c", script)
		_ = cmd.Run() // the status says all
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: status %d, want %d", script, got, want)
		}
	}
	cmd := withservers(t, "-only", "redis", "--", "/no/such/program")
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != 127 {
		t.Errorf("no such program: status %d, want 127", got)
	}
}

func TestCommandReceivesTheAddressesOfTheServers(t *testing.T) {
	testenv.Program(t, "redis-server")
	out, err := withservers(t, "-only", "redis", "--", "sh", "-c",
		"echo $FLAKEPASS_TEST_REQUIRE_SERVERS $FLAKEPASS_TEST_REDIS").Output()
	if err != nil || !strings.HasPrefix(string(out), "1 redis://127.0.0.1:") {
		t.Errorf("output %q, %v", out, err)
	}
}

// TestTemporaryFilesLieInMemory: but not with -durable.
func TestTemporaryFilesLieInMemory(t *testing.T) {
	testenv.Program(t, "redis-server")
	memory, disk := server.Memory(server.RoomForTests), t.TempDir()
	hasty := memory + "/fp-"
	if memory == "" { // without the room they are where they were
		hasty = disk + "\n"
	}
	for durable, want := range map[bool]string{false: hasty, true: disk + "\n"} {
		cmd := withservers(t, "-only", "redis", "-durable="+strconv.FormatBool(durable), "--", "sh", "-c", "echo $TMPDIR")
		cmd.Env = append(cmd.Env, "FLAKEPASS_TEST_MEMORY="+memory, "TMPDIR="+disk)
		out, err := cmd.Output()
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("durable %v: %q, %v, want %s...", durable, out, err, want)
		}
	}
}

func TestPrepareSaysHowToStartOne(t *testing.T) {
	testenv.Program(t, "redis-server")
	out, err := withservers(t, "-prepare", "redis", "-dir", t.TempDir(), "-port", "15001").Output()
	if err != nil || !strings.HasPrefix(string(out), "/") || !strings.Contains(string(out), "redis-server\n") ||
		!strings.Contains(string(out), "\n--port\n15001\n") {
		t.Errorf("output %q, %v", out, err)
	}
	if out, err := withservers(t, "-prepare", "oracle", "-dir", t.TempDir(), "-port", "15001").Output(); err == nil || len(out) > 0 {
		t.Errorf("output %q, %v; want an error", out, err)
	}
}

// TestPreparedServerStarts: what is printed is all that it takes.
func TestPreparedServerStarts(t *testing.T) {
	testenv.Program(t, "redis-server")
	port := testenv.FreePort(t)
	dir := t.TempDir()
	out, err := withservers(t, "-prepare", "redis", "-dir", dir, "-port", strconv.Itoa(port)).Output()
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Split(strings.TrimSpace(string(out)), "\n")
	p := &server.Process{Path: line[0], Args: line[1:], Dir: dir}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	if err := p.Wait(t.Context(), func(ctx context.Context) error { return server.RedisReady(ctx, addr, p.PID()) }); err != nil {
		t.Error(err)
	}
	if err := p.Stop(); err != nil || p.ExitCode() != 0 {
		t.Errorf("stopped with status %d, %v", p.ExitCode(), err)
	}
}

func TestUnknownServerIsRefused(t *testing.T) {
	out, err := withservers(t, "-only", "redis,oracle", "--", "echo", "ran").Output()
	if err == nil || len(out) > 0 {
		t.Errorf("output %q, %v; want an error and the command not run", out, err)
	}
}

// TestInterruptionLeavesNoProcessBehind sends a signal while the command, and a
// child of the command, wait: both, the Redis and the folder have to go.
func TestInterruptionLeavesNoProcessBehind(t *testing.T) {
	testenv.Program(t, "redis-server")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			// A shell's background children ignore SIGINT: these are the ones killed.
			cmd := withservers(t, "-only", "redis", "--", "sh", "-c", `(sleep 300) & echo $$ $! $FLAKEPASS_TEST_REDIS; wait`)
			dir := strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "TMPDIR=")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var shell, child int
			var url string
			if _, err := fmt.Fscan(bufio.NewReader(out), &shell, &child, &url); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the status says all
			if got, want := cmd.ProcessState.ExitCode(), 128+int(s); got != want {
				t.Errorf("status %d, want %d", got, want)
			}
			for _, pid := range []int{shell, child} {
				testenv.Eventually(t, 2*time.Minute, func() bool {
					return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
				}, fmt.Sprintf("process %d ends", pid))
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left in the temporary folder: %v, %v", left, err)
			}
		})
	}
}

func TestMariaDBIsNotTakenForMySQL(t *testing.T) {
	for version, want := range map[string]bool{
		"/usr/sbin/mysqld  Ver 8.4.6 for Linux on x86_64 (MySQL Community Server - GPL)":    true,
		"/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))":                      true,
		"/usr/sbin/mysqld  Ver 10.0.1 for Linux on x86_64":                                  true,
		"/usr/sbin/mysqld  Ver 8.0.43 for Linux on x86_64 (MySQL Community Server - GPL)":   false,
		"mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)": false,
		"": false,
	} {
		if got := isMySQL84(version); got != want {
			t.Errorf("isMySQL84(%q) = %v, want %v", version, got, want)
		}
	}
}
