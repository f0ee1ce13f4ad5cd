//go:build unix

package fileworker_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/fileworker"
)

// lifeEnv makes a process of the test binary a life: it mints until it is
// killed. It holds the directory, and the error of the life's clock.
const (
	lifeDirEnv   = "FILEWORKER_TEST_LIFE"
	lifeClockEnv = "FILEWORKER_TEST_CLOCK"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(lifeDirEnv); dir != "" {
		if err := live(dir); err != nil {
			println(err.Error())
		}
		os.Exit(1) // a life ends by being killed
	}
	os.Exit(m.Run())
}

// live mints and writes each ID down at once. What is written survives the
// process.
func live(dir string) error {
	off, err := time.ParseDuration(os.Getenv(lifeClockEnv))
	if err != nil {
		return err
	}
	start := time.Now()
	now := func() time.Time { return start.Add(off + time.Since(start)) }
	out, err := os.OpenFile(filepath.Join(dir, "ids"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	ctx := context.Background()
	l := &fileworker.Lender{Dir: filepath.Join(dir, "workers"), Numbers: 2, Now: now}
	w, err := idworker.Open(ctx, l, idworker.Options{Now: now})
	if err != nil {
		return err
	}
	go func() { _ = w.Run(ctx) }()
	for {
		id, err := w.Next(ctx)
		if err != nil {
			return err
		}
		if _, err := out.Write(binary.BigEndian.AppendUint64(nil, uint64(id))); err != nil {
			return err
		}
	}
}

// TestKilledProcessesNeverRepeatAnID kills processes at random instants, two at
// a time on two numbers, each life with another clock.
func TestKilledProcessesNeverRepeatAnID(t *testing.T) {
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lives := 0
	// A slow machine gets more time, so that there is something to look at.
	over, limit := time.Now().Add(3*time.Second), time.Now().Add(time.Minute)
	for time.Now().Before(over) || written(dir) < 8*1000 && time.Now().Before(limit) {
		var running []*exec.Cmd
		for range 2 {
			cmd := exec.CommandContext(t.Context(), program)
			off := time.Duration(rand.Int64N(int64(400*time.Millisecond))) - 200*time.Millisecond
			cmd.Env = append(os.Environ(), lifeDirEnv+"="+dir, lifeClockEnv+"="+off.String())
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			running = append(running, cmd)
		}
		timer := time.NewTimer(time.Duration(20+rand.IntN(150)) * time.Millisecond)
		<-timer.C
		for _, cmd := range running {
			_ = cmd.Process.Kill()
			if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
				t.Errorf("a life ended by itself: %v", err)
			}
			lives++
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "ids"))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[uint64]bool)
	for ; len(b) >= 8; b = b[8:] {
		id := binary.BigEndian.Uint64(b)
		if seen[id] {
			t.Fatalf("ID %s twice among %d", strconv.FormatUint(id, 10), len(seen))
		}
		seen[id] = true
	}
	t.Logf("%d IDs in %d lives, none twice", len(seen), lives)
	if len(seen) < 1000 {
		t.Errorf("only %d IDs in %d lives: nothing was tested", len(seen), lives)
	}
}

// written is the size of what was written down, in bytes.
func written(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, "ids"))
	if err != nil {
		return 0
	}
	return info.Size()
}
