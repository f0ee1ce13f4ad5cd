//go:build unix

package attack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

const (
	// patience is how long a test waits for what has to come. The server hangs up
	// after 15 s at the latest; this is the limit on a machine that stands still.
	patience = 2 * time.Minute
	password = "violet tram sings at noon"
)

// whole reports whether "make attack" asks for the large numbers.
func whole() bool { return os.Getenv("FLAKEPASS_ATTACK") == "whole" }

func TestMain(m *testing.M) { testenv.Main(m) }

// A world is a flakepass on SQLite, and its attacker.
type world struct {
	t              testing.TB
	process        *server.Process
	api, ops, link string // host:port of the two ports, and the link for the first admin
	file           string // the database
	client         *http.Client
}

var (
	apiLine = regexp.MustCompile(`API +https?://(\S+)`)
	opsLine = regexp.MustCompile(`ops +http://(\S+)`)
	setup   = regexp.MustCompile(`http://\S+/console/setup\?code=\S+`)
)

// newWorld starts a server with those settings, as name=value without FLAKEPASS_.
// Each request is in its log.
func newWorld(t testing.TB, settings ...string) *world {
	t.Helper()
	program := testenv.Flakepass(t)
	dir := t.TempDir()
	w := &world{t: t, file: filepath.Join(dir, "flakepass.db")}
	ways := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 50}
	t.Cleanup(ways.CloseIdleConnections)
	w.client = &http.Client{
		Timeout: patience, Transport: ways,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	w.process = &server.Process{Path: program, Args: []string{"serve"}, Dir: t.TempDir()}
	w.process.Env = []string{"PATH=" + os.Getenv("PATH")}
	for _, s := range append([]string{"LISTEN=127.0.0.1:0", "OPS_LISTEN=127.0.0.1:0", "THROTTLE=off", "LOG_LEVEL=debug", "DATA_DIR=" + dir}, settings...) {
		w.process.Env = append(w.process.Env, "FLAKEPASS_"+s)
	}
	if err := w.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.process.Stop(); err != nil {
			t.Error(err)
		}
	})
	ready(t, w.process, func() (string, bool) {
		text := w.process.Log()
		api, ops := apiLine.FindStringSubmatch(text), opsLine.FindStringSubmatch(text)
		if api == nil || ops == nil || !strings.Contains(text, "worker number") {
			return "", false
		}
		w.api, w.ops, w.link = api[1], ops[1], setup.FindString(text)
		return w.ops, true
	})
	return w
}

// ready waits until a program answers /healthz at the address that it has.
func ready(t testing.TB, p *server.Process, address func() (string, bool)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	if err := p.Wait(ctx, func(ctx context.Context) error {
		at, known := address()
		if !known {
			return io.ErrNoProgress
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/healthz", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(r)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}); err != nil {
		t.Fatal(err)
	}
}

// front starts nginx before the server, with docs/deploy/nginx.conf in which what
// belongs to this machine is replaced, and more: old, new, ... It returns its
// address.
func (w *world) front(more ...string) string {
	w.t.Helper()
	program := testenv.Program(w.t, "nginx")
	dir, address := w.t.TempDir(), fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(w.t))
	text, err := os.ReadFile("../../../docs/deploy/nginx.conf")
	if err != nil {
		w.t.Fatal(err)
	}
	conf := string(text)
	for i, pairs := 0, append([]string{
		"worker_processes auto", "worker_processes 1", "access_log /dev/stdout plain", "access_log off", "error_log /dev/stderr", "error_log stderr",
		" /tmp/", " " + dir + "/", "listen 8080 default_server", "listen " + address,
		"server flakepass-1:8080", "server " + w.api, "server flakepass-2:8080 max_fails=0;", "",
	}, more...); i < len(pairs); i += 2 {
		if !strings.Contains(conf, pairs[i]) {
			w.t.Fatalf("docs/deploy/nginx.conf has no %q", pairs[i])
		}
		conf = strings.ReplaceAll(conf, pairs[i], pairs[i+1])
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		w.t.Fatal(err)
	}
	global := "daemon off;"
	if os.Geteuid() == 0 {
		global += " user root;"
	}
	p := &server.Process{Path: program, Args: []string{"-p", dir, "-c", file, "-e", "stderr", "-g", global}, Dir: w.t.TempDir()}
	if err := p.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			w.t.Error(err)
		}
	})
	ready(w.t, p, func() (string, bool) { return address, true })
	return address
}
