//go:build unix

package server_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// never is a server's ready that is never so.
func never(context.Context) error { return errors.New("nothing listens") }

func TestWaitGivesUpAtOnceWhenTheServerEnds(t *testing.T) {
	p := &server.Process{Path: "/bin/sh", Args: []string{"-c", "echo cannot bind; exit 1"}, Dir: t.TempDir()}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	// t.Context has no deadline: only the end of the child can end this.
	err := p.Wait(t.Context(), never)
	if err == nil || !strings.Contains(err.Error(), "cannot bind") || !strings.Contains(err.Error(), "nothing listens") {
		t.Errorf("Wait: %v; want the log and the last answer in it", err)
	}
	if p.Running() {
		t.Error("Running after the end")
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	p := start(t, "exec sleep 300")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Wait(ctx, never); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v, want context.Canceled", err)
	}
}

func TestStopEndsEvenAPausedServer(t *testing.T) {
	p := start(t, "exec sleep 300")
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	if !p.Running() {
		t.Error("a paused server is not Running")
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d after Stop: %v, want it gone", p.PID(), err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("second Stop: %v, want nil", err)
	}
}

func TestVerbsNeedALivingServer(t *testing.T) {
	p := start(t, "exec sleep 300")
	if err := p.Start(); err == nil {
		t.Error("second Start: no error")
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	for name, verb := range map[string]func() error{"Kill": p.Kill, "Pause": p.Pause, "Resume": p.Resume} {
		if err := verb(); !errors.Is(err, server.ErrNotRunning) {
			t.Errorf("%s after the end: %v, want ErrNotRunning", name, err)
		}
	}
	if err := p.Start(); err != nil {
		t.Errorf("Start after Kill: %v", err)
	}
}

func TestStartNamesAMissingProgram(t *testing.T) {
	p := &server.Process{Path: "/no/such/program", Dir: t.TempDir()}
	if err := p.Start(); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("Start: %v", err)
	}
	if p.Running() {
		t.Error("Running after a failed Start")
	}
}

// TestServersShareNoTemporaryFolder: also where the environment names one.
func TestServersShareNoTemporaryFolder(t *testing.T) {
	shared := t.TempDir()
	t.Setenv("TMPDIR", shared)
	for _, env := range [][]string{nil, {"TMPDIR=" + shared, "PATH=" + os.Getenv("PATH")}} {
		p := &server.Process{Path: "/bin/sh", Args: []string{"-c", `echo "$TMPDIR"; exec mkdir "$TMPDIR/mine"`}, Dir: t.TempDir(), Env: env}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait(t.Context(), never) // it ends by itself
		if want := filepath.Join(p.Dir, "tmp"); p.ExitCode() != 0 || p.Log() != want+"\n" {
			t.Errorf("with %v: TMPDIR is %q, want %s; status %d", env, p.Log(), want, p.ExitCode())
		}
	}
}

func start(t *testing.T, script string) *server.Process {
	t.Helper()
	p := &server.Process{Path: "/bin/sh", Args: []string{"-c", script}, Dir: t.TempDir()}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}
