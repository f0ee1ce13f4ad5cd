//go:build unix

package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// SharedRedis returns the redis:// address of a Redis that all tests of a run
// share. Other tests use it at the same time: a test keeps to keys that only it
// uses, and never flushes.
func SharedRedis(t testing.TB) string {
	t.Helper()
	url := os.Getenv("FLAKEPASS_TEST_REDIS")
	if url == "" {
		Absent(t, "the shared Redis")
	}
	return url
}

// A RedisServer is a redis-server process of one test's own. It keeps nothing
// on disk: after Stop or Kill, Start brings up an empty one. The methods end
// the test when they fail, so they are for the goroutine that runs the test.
type RedisServer struct {
	// Addr is host:port. It stays the same for the server's whole life.
	Addr string

	t       testing.TB
	process server.Process
}

// Redis starts a redis-server and returns when it answers. It ends with the
// test, also if the test panics. More arguments go to redis-server as they are:
// Redis(t, "--appendonly", "yes") keeps its keys over a Kill.
func Redis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	return redisServer(t, func(dir string, port int) []string {
		return append(server.RedisArgs(dir, port), args...)
	})
}

// redisServer starts a redis-server with the arguments for a folder and a port.
func redisServer(t testing.TB, args func(dir string, port int) []string) *RedisServer {
	t.Helper()
	r := &RedisServer{t: t, process: server.Process{Path: Program(t, "redis-server"), Dir: t.TempDir()}}
	t.Cleanup(func() {
		if err := r.process.Stop(); err != nil {
			t.Errorf("testenv: %v", err)
		}
	})
	// Between the choice of a port and the bind, another process may take it.
	var err error
	for range 3 {
		port := FreePort(t)
		r.Addr = fmt.Sprintf("127.0.0.1:%d", port)
		r.process.Args = args(r.process.Dir, port)
		if err = r.start(); err == nil {
			return r
		}
	}
	t.Fatalf("testenv: redis: %v", err)
	return nil
}

// URL returns the server's address as redis://host:port.
func (r *RedisServer) URL() string { return "redis://" + r.Addr }

// Start starts the server again after Stop or Kill, on the same port, and
// returns when it answers.
func (r *RedisServer) Start() {
	r.t.Helper()
	if err := r.start(); err != nil {
		r.t.Fatalf("testenv: %v", err)
	}
}

// Stop ends the server in order, with SIGTERM. New connections are refused once
// it returns.
func (r *RedisServer) Stop() { r.t.Helper(); r.must(r.process.Stop()) }

// Kill ends the server with SIGKILL. New connections are refused once it
// returns.
func (r *RedisServer) Kill() { r.t.Helper(); r.must(r.process.Kill()) }

// Pause makes the server stand still: connections are taken by the kernel and
// no request is answered. It is what a network that loses everything looks like.
func (r *RedisServer) Pause() { r.t.Helper(); r.must(r.process.Pause()) }

// Resume lets a paused server go on, with everything that was sent to it in the
// meantime.
func (r *RedisServer) Resume() { r.t.Helper(); r.must(r.process.Resume()) }

// Running reports whether the server was not stopped or killed. A paused one
// runs.
func (r *RedisServer) Running() bool { return r.process.Running() }

// Command sends one command, words with spaces between them, and returns the
// answer as Redis wrote it. The test ends if the answer is an error, or none.
func (r *RedisServer) Command(command string) string {
	r.t.Helper()
	answer, err := r.ask(command)
	if err != nil {
		r.t.Fatalf("testenv: %v", err)
	}
	return answer
}

// AwaitCopies waits until n replicas have all that this server has by now. The
// test ends if they do not come to have it.
func (r *RedisServer) AwaitCopies(n int) {
	r.t.Helper()
	offset := field(r.Command("INFO replication"), "master_repl_offset:", "\r\n")
	want, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		r.t.Fatalf("testenv: offset of %s: %v", r.Addr, err)
	}
	Eventually(r.t, assembly, func() bool {
		copies := 0
		for line := range strings.Lines(r.Command("INFO replication")) {
			// slave0:ip=127.0.0.1,port=6379,state=online,offset=123,lag=0
			if got, err := strconv.ParseInt(field(line, ",offset=", ","), 10, 64); err == nil && got >= want {
				copies++
			}
		}
		return copies >= n
	}, "the replicas have what their master has")
}

// field is what stands in text between two marks.
func field(text, before, behind string) string {
	_, rest, _ := strings.Cut(text, before)
	value, _, _ := strings.Cut(rest, behind)
	return value
}

// ask is Command, for a server that may be down or not ready.
func (r *RedisServer) ask(command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	answer, err := server.RedisCommand(ctx, r.Addr, command)
	if err == nil && strings.HasPrefix(answer, "-") {
		err = errors.New(strings.TrimSpace(answer))
	}
	if err != nil {
		return "", fmt.Errorf("redis at %s: %s: %w", r.Addr, command, err)
	}
	return answer, nil
}

// says reports whether the answer to a command holds all parts.
func (r *RedisServer) says(command string, parts ...string) bool {
	answer, err := r.ask(command)
	for _, part := range parts {
		if err != nil || !strings.Contains(answer, part) {
			return false
		}
	}
	return err == nil
}

func (r *RedisServer) must(err error) {
	if err != nil {
		r.t.Helper()
		r.t.Fatalf("testenv: %v", err)
	}
}

func (r *RedisServer) start() error {
	if err := r.process.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := r.process.Wait(ctx, func(ctx context.Context) error {
		return server.RedisReady(ctx, r.Addr, r.process.PID())
	})
	if err != nil {
		_ = r.process.Stop()
	}
	return err
}
