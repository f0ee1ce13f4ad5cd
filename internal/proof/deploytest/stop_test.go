package deploytest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
)

// A held body is sent when its test lets go.
type held struct {
	reached chan struct{} // closed when the server asks for the body
	release chan struct{}
	body    io.Reader
}

func (h *held) Read(p []byte) (int, error) {
	select {
	case <-h.reached:
	default:
		close(h.reached)
	}
	<-h.release
	return h.body.Read(p)
}

// stopUnderWay stops the process while logins wait inside their handlers: they
// have their connection, and "100 Continue". Each gets its answer.
func stopUnderWay(t *testing.T, p *e2e.Process, password string) {
	t.Helper()
	release := make(chan struct{})
	type outcome struct {
		status int
		err    error
	}
	outcomes := make(chan outcome)
	body := e2e.Object("username", "alice", "password", password)
	next := &http.Transport{ExpectContinueTimeout: e2e.Patience, MaxConnsPerHost: 0}
	defer next.CloseIdleConnections()
	const logins = 4
	for range logins {
		h := &held{make(chan struct{}), release, strings.NewReader(body)}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.Public+"/v1/login", h)
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = int64(len(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Expect", "100-continue")
		go func() {
			resp, err := (&http.Client{Transport: next, Timeout: e2e.Patience}).Do(req)
			if err != nil {
				outcomes <- outcome{0, err}
				return
			}
			_ = resp.Body.Close()
			outcomes <- outcome{resp.StatusCode, nil}
		}()
		<-h.reached
	}
	p.Signal(t, syscall.SIGTERM)
	testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(p.Log.String(), "stopping") }, "the process does not stop")
	close(release)
	for range logins {
		if o := <-outcomes; o.err != nil || o.status != 200 {
			t.Errorf("a login under way got %d %v", o.status, o.err)
		}
	}
	if code := p.End(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM\n%s", code, p.Log)
	}
}

// TestStopsWithinTheGrace: a client that never finishes its request keeps the
// process no longer than it is allowed to. What a terminal sends when it is closed stops it as SIGTERM
// does, so that uses that are noted are written.
func TestStopsWithinTheGrace(t *testing.T) {
	t.Parallel()
	vars := e2e.AnyPort()
	vars["FLAKEPASS_SHUTDOWN_TIMEOUT"] = "1s"
	p := e2e.StartProcess(t, t.TempDir(), vars)
	h := &held{make(chan struct{}), make(chan struct{}), strings.NewReader("")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer close(h.release)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.Public+"/v1/login", h)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = 10
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Expect", "100-continue")
	go func() {
		resp, err := (&http.Client{Transport: &http.Transport{ExpectContinueTimeout: e2e.Patience}}).Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-h.reached
	hangup := syscall.SIGHUP
	if signal.Ignored(hangup) { // these tests run below nohup, and so does the server
		hangup = syscall.SIGTERM
	}
	p.Signal(t, hangup)
	if code := p.End(t); code != 1 || !strings.Contains(p.Log.String(), "FLAKEPASS_SHUTDOWN_TIMEOUT") {
		t.Errorf("exit code %d, want 1 and a sentence about the timeout\n%s", code, p.Log)
	}
}

// TestStopDuringStart stops the server at many moments of its start. Whatever
// it has begun by then, it ends, and gives everything back: the last start, on
// the same files, is left alone.
func TestStopDuringStart(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	begun := time.Now()
	if err := d.Start(t).Stop(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	cfg, err := config.Load(config.Options{Environ: e2e.Environ(d.Vars)})
	if err != nil {
		t.Fatal(err)
	}
	const moments = 40
	for n := range moments {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), took*time.Duration(n)/moments)
		ended := make(chan error, 1)
		var log testenv.Journal
		go func() { ended <- run.Serve(ctx, cfg, &testenv.Journal{}, &log, nil) }()
		select {
		case err := <-ended:
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Logf("stopped %d/%d into the start: %v", n, moments, err)
			}
		case <-time.After(e2e.Patience):
			t.Fatalf("stopped %d/%d into the start, it does not end\n%s", n, moments, log.String())
		}
		cancel()
	}
	c := e2e.NewClient(t, d.Start(t).Public)
	c.Want(c.Do("GET", "/readyz", ""), 200, "")
}

// TestServesWithoutTheReaderOfItsLog: the process that a log is piped to may end. The next line of
// the log ends neither the server nor the request that it is about.
func TestServesWithoutTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "piped")
	text := "#!/bin/sh\nmkfifo log\nhead -c 1 log >/dev/null &\nexec '" + e2e.Binary(t) + "' \"$@\" 2>log\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	p := e2e.StartProgram(t, script, dir, e2e.AnyPort())
	c := e2e.NewClient(t, p.Public)
	for range 5 { // each is a line
		c.Want(c.TryLogin("nobody", e2e.Passphrase), 401, "credentials_invalid")
	}
	p.Signal(t, syscall.SIGTERM)
	if code := p.End(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
