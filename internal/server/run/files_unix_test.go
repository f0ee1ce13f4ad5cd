//go:build unix

package run

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/server/config"
)

// TestOpenFilesEndBeforeNoConnectionIsTaken: where a process may open fewer files than
// FLAKEPASS_MAX_CONNECTIONS, one client with idle connections kept all others out.
func TestOpenFilesEndBeforeNoConnectionIsTaken(t *testing.T) {
	if os.Getenv("FLAKEPASS_TEST_FILES") != "" {
		serveUntilTheInputEnds(t)
		return
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -n 300; exec "$0" -test.run '^TestOpenFilesEndBeforeNoConnectionIsTaken$'`, os.Args[0])
	cmd.Env = append(os.Environ(), "FLAKEPASS_TEST_FILES=1")
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	at, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	at = strings.TrimSpace(at)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 400 { // each has brought a request, and is idle
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := new(http.Client).Do(r)
	if err != nil {
		t.Fatal("beside 400 idle connections:", err)
	}
	_ = answer.Body.Close()
}

func serveUntilTheInputEnds(t *testing.T) {
	t.Helper()
	hello := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	log := slog.New(slog.DiscardHandler)
	p, err := open(t.Context(), config.Config{Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", MaxConnections: 10_000}, nil, hello, hello, log)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	p.serve(&running)
	_, _ = fmt.Fprintln(os.Stdout, p.public.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	p.cut()
	running.Wait()
}
