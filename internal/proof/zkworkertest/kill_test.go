//go:build unix

package zkworkertest

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/zkworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// These make a process of the test binary a life, which mints until it is
// killed: where ZooKeeper is, the path, the folder, the file of the reserve or
// nothing, and the error of the life's clock.
const (
	lifeEnv     = "ZKWORKER_TEST_LIFE"
	lifeRootEnv = "ZKWORKER_TEST_ROOT"
	lifeDirEnv  = "ZKWORKER_TEST_DIR"
	lifeFileEnv = "ZKWORKER_TEST_FILE"
	lifeOffEnv  = "ZKWORKER_TEST_CLOCK"
)

func live() error {
	off, err := time.ParseDuration(os.Getenv(lifeOffEnv))
	if err != nil {
		return err
	}
	start := time.Now()
	now := func() time.Time { return start.Add(off + time.Since(start)) }
	out, err := os.OpenFile(filepath.Join(os.Getenv(lifeDirEnv), "ids"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	c := &zkworker.Client{Servers: []string{os.Getenv(lifeEnv)}, Session: time.Second}
	var l idworker.Lender = &zkworker.Lender{Client: c, Root: os.Getenv(lifeRootEnv), Numbers: 2, Now: now}
	if file := os.Getenv(lifeFileEnv); file != "" {
		l = &zkworker.Keyed{Client: c, Root: os.Getenv(lifeRootEnv), Key: "same", File: file, Offline: 2 * time.Second, Now: now}
	}
	ctx := context.Background()
	var w *idworker.Worker
	for {
		w, err = idworker.Open(ctx, l, idworker.Options{Now: now})
		if err == nil {
			break
		}
		timer := time.NewTimer(10 * time.Millisecond) // no number is free yet
		<-timer.C
	}
	go func() { _ = w.Run(ctx) }()
	for {
		id, err := w.Next(ctx)
		switch {
		case errors.Is(err, idworker.ErrNoGrant):
			continue // between two numbers
		case err != nil:
			return err
		}
		if _, err := out.Write(binary.BigEndian.AppendUint64(nil, uint64(id))); err != nil {
			return err
		}
	}
}

// TestKilledAndPausedProcessesNeverRepeatAnID runs processes on two numbers, or
// with one key, each with another clock. Some are stopped for longer than their
// session lives, while others take their number, and go on; then all are killed.
func TestKilledAndPausedProcessesNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	for _, keyed := range []bool{false, true} {
		t.Run(map[bool]string{false: "Lender", true: "Keyed"}[keyed], func(t *testing.T) {
			t.Parallel()
			addr, root := testenv.ZooKeeper(t)
			dir := t.TempDir()
			start := func(i int) *exec.Cmd {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				off := time.Duration(rand.Int64N(int64(400*time.Millisecond))) - 200*time.Millisecond
				cmd.Env = append(os.Environ(), lifeEnv+"="+addr, lifeRootEnv+"="+root, lifeDirEnv+"="+dir, lifeOffEnv+"="+off.String())
				if keyed {
					cmd.Env = append(cmd.Env, lifeFileEnv+"="+filepath.Join(dir, "machine"+string(rune('0'+i)), "reserve"))
				}
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				return cmd
			}
			grows := func() {
				t.Helper()
				before := size(dir)
				testenv.Eventually(t, patience, func() bool { return size(dir) > before+8*100 }, "IDs are minted")
			}
			for range 3 {
				lives := []*exec.Cmd{start(0), start(1)}
				grows()
				for _, cmd := range lives {
					_ = cmd.Process.Signal(syscall.SIGSTOP)
				}
				// Others take the numbers when the sessions are over.
				lives = append(lives, start(2), start(3))
				grows()
				for _, cmd := range lives {
					_ = cmd.Process.Signal(syscall.SIGCONT)
				}
				grows()
				for _, cmd := range lives {
					_ = cmd.Process.Kill()
					if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
						t.Errorf("a life ended by itself: %v", err)
					}
				}
			}
			b, err := os.ReadFile(filepath.Join(dir, "ids"))
			if err != nil {
				t.Fatal(err)
			}
			all := seen{}
			for ; len(b) >= 8; b = b[8:] {
				all.add(t, idworker.ID(binary.BigEndian.Uint64(b)))
			}
			numbers := map[int64]bool{}
			for id := range all {
				numbers[idworker.Default().Decompose(id).Worker] = true
			}
			t.Logf("%d IDs under %d numbers, none twice", len(all), len(numbers))
		})
	}
}

// size is that of what was written down, in bytes.
func size(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, "ids"))
	if err != nil {
		return 0
	}
	return info.Size()
}
