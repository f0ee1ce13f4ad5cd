//go:build unix

package chaos

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// An instance is one server process and its links.
type instance struct {
	name    string
	base    string // http://host:port, the same for all its lives
	process server.Process
	mysql   *faultproxy.Proxy
	redis   *faultproxy.Proxy // nil without Redis, and with sentinels, who name the servers' own addresses
	http    *http.Client
	// away counts up when the process is killed or paused, and again when it is
	// back: while it is odd, no answer is expected.
	away atomic.Int64
}

func (w *world) instance(t *testing.T, n int, program string, more ...string) *instance {
	t.Helper()
	i := &instance{name: fmt.Sprintf("instance %d", n), mysql: faultproxy.New(t, w.database.addr)}
	redis := ""
	switch {
	case w.sentinel != nil:
		redis = w.sentinel.URL()
	case w.redis != nil:
		i.redis = faultproxy.New(t, w.redis.Addr)
		redis = "redis://" + i.redis.Addr
	}
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	dir := t.TempDir()
	i.base = "http://" + address
	i.process = server.Process{Path: program, Args: []string{"serve"}, Dir: dir, Env: append([]string{
		"FLAKEPASS_DATA_DIR=" + dir,
		"FLAKEPASS_DATABASE=" + w.database.url(i.mysql.Addr),
		"FLAKEPASS_REDIS=" + redis,
		"FLAKEPASS_LISTEN=" + address,
		"FLAKEPASS_OPS_LISTEN=127.0.0.1:0",
		"FLAKEPASS_THROTTLE=off", // all who log in come from one address
		"FLAKEPASS_REVOCATION_BOUND=" + w.bound.String(),
	}, more...)}
	next := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(next.CloseIdleConnections)
	// Longer than the server takes at most to give up an answer.
	i.http = &http.Client{Transport: next, Timeout: 20 * time.Second}
	t.Cleanup(func() {
		_ = i.process.Stop()
		log := i.process.Log()
		for line := range strings.Lines(log) {
			if strings.Contains(line, "panic") || strings.Contains(line, "DATA RACE") {
				t.Errorf("%s: %s", i.name, line)
			}
		}
		if t.Failed() {
			t.Logf("the last words of %s:\n%s", i.name, i.process.LogTail())
		}
	})
	return i
}

// start starts the process and returns when it is ready.
func (i *instance) start(t testing.TB) {
	t.Helper()
	if err := i.process.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := i.process.Wait(ctx, i.answers); err != nil {
		t.Fatalf("%s is not ready: %v", i.name, err)
	}
}

// answers returns nil if the process answers anything at all.
func (i *instance) answers(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, i.base+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := i.http.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	return nil
}

// without does f while the instance is not expected to answer.
func (i *instance) without(f func()) {
	i.away.Add(1)
	defer i.away.Add(1)
	f()
}
