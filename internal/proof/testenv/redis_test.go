//go:build unix

package testenv_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// doomed, if set in the environment, makes TestRedisEndsWithItsProcess start a
// Redis, print its process ID and end as the value says.
const doomed = "TESTENV_DOOMED"

func TestRedisEndsWithItsProcess(t *testing.T) {
	if how := os.Getenv(doomed); how != "" {
		end(t, how)
	}
	for _, how := range []string{"panic", "kill"} {
		t.Run(how, func(t *testing.T) {
			self := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRedisEndsWithItsProcess$")
			self.Env = append(os.Environ(), doomed+"="+how)
			out, err := self.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			testenv.Program(t, "redis-server")
			if err := self.Start(); err != nil {
				t.Fatal(err)
			}
			var pid int
			_, scanErr := fmt.Fscanf(bufio.NewReader(out), "%d\n", &pid)
			if err := self.Wait(); err == nil {
				t.Fatal("the doomed process lives on")
			}
			if scanErr != nil || pid == 0 {
				t.Fatalf("no process ID: %v", scanErr)
			}
			testenv.Eventually(t, 2*time.Minute, func() bool {
				return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
			}, fmt.Sprintf("Redis, process %d, ends", pid))
		})
	}
}

func end(t *testing.T, how string) {
	r := testenv.Redis(t)
	rdb := client(t, r)
	info, err := rdb.InfoMap(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintln(os.Stdout, info["Server"]["process_id"])
	if how == "kill" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	panic("as ordered")
}

func TestRedisComesBackEmptyOnItsPort(t *testing.T) {
	r := testenv.Redis(t)
	addr := r.Addr
	for name, down := range map[string]func(){"Stop": r.Stop, "Kill": r.Kill} {
		if err := client(t, r).Set(t.Context(), "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		down()
		if c, err := dial(t, addr); err == nil {
			_ = c.Close()
			t.Fatalf("after %s, something listens on %s", name, addr)
		}
		r.Start()
		if r.Addr != addr || r.URL() != "redis://"+addr {
			t.Errorf("after %s and Start: %s, want %s", name, r.Addr, addr)
		}
		if n, err := client(t, r).DBSize(t.Context()).Result(); err != nil || n != 0 {
			t.Errorf("after %s and Start: %d keys, %v; want none", name, n, err)
		}
	}
}

func TestRedisKeepsKeysIfAskedTo(t *testing.T) {
	r := testenv.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	if err := client(t, r).Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	r.Kill()
	r.Start()
	if got, err := client(t, r).Get(t.Context(), "k").Result(); err != nil || got != "v" {
		t.Errorf("after Kill and Start: %q, %v; want v", got, err)
	}
}

// TestPausedRedisTakesConnectionsAndDoesNotAnswer also holds Stop to ending a
// server that is paused: the cleanup does that.
func TestPausedRedisTakesConnectionsAndDoesNotAnswer(t *testing.T) {
	r := testenv.Redis(t)
	c, err := dial(t, r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })

	r.Pause()
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 7)
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(answer); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("paused: read %q, %v; want no answer", answer[:n], err)
	}
	r.Resume()
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(answer); err != nil || string(answer[:n]) != "+PONG\r\n" {
		t.Errorf("resumed: read %q, %v; want the answer to what was sent before", answer[:n], err)
	}
	r.Pause()
}

func TestSharedRedisAnswers(t *testing.T) {
	options, err := redis.ParseURL(testenv.SharedRedis(t))
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	if err := rdb.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

func dial(t *testing.T, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	return d.DialContext(t.Context(), "tcp", addr)
}

func client(t *testing.T, r *testenv.RedisServer) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
