//go:build unix

package testenv

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// ZooKeeper returns the host:port of a ZooKeeper that all tests of a run share,
// and a path on it that no other test uses and that does not exist yet. What a
// test leaves there goes when the run is over.
func ZooKeeper(t testing.TB) (addr, root string) {
	t.Helper()
	addr = os.Getenv("FLAKEPASS_TEST_ZOOKEEPER")
	if addr == "" {
		Absent(t, "the shared ZooKeeper")
	}
	return addr, "/t_" + strings.ToLower(rand.Text())
}

// A ZooKeeperServer is a ZooKeeper process of one test's own. What it has
// acknowledged is on the disk: it has it again after Kill and Start. The
// methods end the test when they fail, so they are for the goroutine that runs
// the test.
type ZooKeeperServer struct {
	// Addr is host:port. It stays the same for the server's whole life.
	Addr string

	t       testing.TB
	process server.Process
}

// OwnZooKeeper starts a ZooKeeper, which takes about a second, and returns when
// it answers. It ends with the test.
func OwnZooKeeper(t testing.TB) *ZooKeeperServer {
	t.Helper()
	path := Program(t, "java")
	if _, err := os.Stat(server.ZooKeeperJar); err != nil {
		Absent(t, server.ZooKeeperJar)
	}
	z := &ZooKeeperServer{t: t, process: server.Process{Path: path, Dir: t.TempDir()}}
	t.Cleanup(func() {
		if err := z.process.Stop(); err != nil {
			t.Errorf("testenv: %v", err)
		}
	})
	// Between the choice of a port and the bind, another process may take it.
	var err error
	for range 3 {
		port := FreePort(t)
		z.Addr = fmt.Sprintf("127.0.0.1:%d", port)
		if z.process.Args, err = server.ZooKeeperArgs(z.process.Dir, port); err != nil {
			t.Fatalf("testenv: %v", err)
		}
		if err = z.start(); err == nil {
			return z
		}
	}
	t.Fatalf("testenv: zookeeper: %v", err)
	return nil
}

// Start starts the server again after Stop or Kill, on the same port and data,
// and returns when it answers.
func (z *ZooKeeperServer) Start() { z.t.Helper(); z.must(z.start()) }

// Stop ends the server in order, with SIGTERM. New connections are refused once
// it returns.
func (z *ZooKeeperServer) Stop() { z.t.Helper(); z.must(z.process.Stop()) }

// Kill ends the server with SIGKILL. New connections are refused once it
// returns.
func (z *ZooKeeperServer) Kill() { z.t.Helper(); z.must(z.process.Kill()) }

// Pause makes the server stand still: connections are taken by the kernel and
// no request is answered.
func (z *ZooKeeperServer) Pause() { z.t.Helper(); z.must(z.process.Pause()) }

// Resume lets a paused server go on, with everything that was sent to it in the
// meantime.
func (z *ZooKeeperServer) Resume() { z.t.Helper(); z.must(z.process.Resume()) }

// Forget empties the server's data. It is for between Kill or Stop and Start.
func (z *ZooKeeperServer) Forget() { z.t.Helper(); z.must(os.RemoveAll(z.data())) }

// Backup copies the server's data, and returns what puts the copy in the place
// of what is there. Both are for between Kill or Stop and Start.
func (z *ZooKeeperServer) Backup() (restore func()) {
	z.t.Helper()
	kept := filepath.Join(z.t.TempDir(), "data")
	z.must(os.CopyFS(kept, os.DirFS(z.data())))
	return func() {
		z.t.Helper()
		z.Forget()
		z.must(os.CopyFS(z.data(), os.DirFS(kept)))
	}
}

func (z *ZooKeeperServer) data() string { return filepath.Join(z.process.Dir, "data", "version-2") }

func (z *ZooKeeperServer) must(err error) {
	if err != nil {
		z.t.Helper()
		z.t.Fatalf("testenv: %v", err)
	}
}

func (z *ZooKeeperServer) start() error {
	if err := z.process.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := z.process.Wait(ctx, func(ctx context.Context) error {
		return server.ZooKeeperReady(ctx, z.Addr, z.process.Dir)
	})
	if err != nil {
		_ = z.process.Stop()
	}
	return err
}
