package bench

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// An httpServer is a process that serves on loopback.
type httpServer struct {
	addr    string
	process *server.Process
}

// start runs a program until the benchmark ends, and returns once it answers a
// GET of path, whatever the answer is.
func start(tb testing.TB, program, path string, args func(addr, dir string) []string) *httpServer {
	tb.Helper()
	s := &httpServer{
		addr:    fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(tb)),
		process: &server.Process{Path: program, Dir: tb.TempDir()},
	}
	s.process.Args = args(s.addr, s.process.Dir)
	if err := s.process.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.process.Stop(); err != nil {
			tb.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	client := &http.Client{Timeout: time.Second}
	err := s.process.Wait(ctx, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+path, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// startSelf runs this test program as another server.
func startSelf(tb testing.TB, part, path string, args ...string) *httpServer {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return start(tb, self, path, func(addr, _ string) []string { return append([]string{part, addr}, args...) })
}

// startFlakepass runs the server with its defaults, in a data directory that
// may hold a database already. More settings are lines of YAML.
func startFlakepass(tb testing.TB, program, data string, settings ...string) *httpServer {
	tb.Helper()
	return start(tb, program, "/healthz", func(addr, dir string) []string {
		file := filepath.Join(dir, "flakepass.yaml")
		lines := append([]string{
			"listen: " + addr, "ops_listen: 127.0.0.1:0", "data_dir: " + data, "log_level: warn", "throttle: off",
		}, settings...)
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			tb.Fatal(err)
		}
		return []string{"--config", file, "serve"}
	})
}

// built is the command, in a folder that TestMain removes.
var built struct {
	sync.Once
	dir string
	err error
}

// buildFlakepass builds the command as "make build" does, once.
func buildFlakepass(tb testing.TB) string {
	tb.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "flakepass-bench-"); built.err == nil {
			built.err = build(filepath.Join(built.dir, "flakepass"))
		}
	})
	if built.err != nil {
		tb.Fatal(built.err)
	}
	return filepath.Join(built.dir, "flakepass")
}

func build(path string) error {
	build := exec.Command("go", "build", "-tags", "nomsgpack", "-trimpath", "-ldflags", "-s -w", //nolint:noctx // bounded by the timeout of the whole run
		"-o", path, "github.com/flakepass/flakepass/cmd/flakepass")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// cpu is the CPU time that the process and those that it has started have used,
// in steps of 10 ms.
func (s *httpServer) cpu(tb testing.TB) time.Duration {
	tb.Helper()
	const hertz = 100 // USER_HZ, the same on every Linux
	own := strconv.Itoa(s.process.PID())
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		testenv.Absent(tb, "/proc")
	}
	var ticks int64
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state ppid ...", where name may hold anything; utime and
		// stime are the 14th and 15th field.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if fields[1] != own && path != "/proc/"+own+"/stat" {
			continue
		}
		for _, field := range fields[11:13] {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / hertz
}
