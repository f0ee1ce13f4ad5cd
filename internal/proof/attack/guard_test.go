//go:build unix

package attack

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestFloodOverHTTPErasesNoGuard: strangers in five networks use up what they have at
// an account. A flood of fresh names with passwords that no account has, and a
// restart, give them no more. The owner gets in at home and with the device.
func TestFloodOverHTTPErasesNoGuard(t *testing.T) {
	t.Parallel()
	n := 2000
	if whole() {
		n = 60_000
	}
	dir := t.TempDir()
	settings := []string{"TRUSTED_PROXIES=127.0.0.1", "THROTTLE=on", "LOG_LEVEL=info", "DATA_DIR=" + dir}
	w := newWorld(t, settings...)
	login := func(from, name, password, device string) answer {
		t.Helper()
		body := []string{"username", name, "password", password}
		if device != "" {
			body = append(body, "device_credential", device)
		}
		return w.send("POST", w.api, "/v1/login", object(body...), "X-Forwarded-For", from)
	}
	w.register("alice")
	home := login("192.0.2.1", "alice", password, "")
	var in struct {
		Device string `json:"device_credential"`
	}
	if err := json.Unmarshal([]byte(home.body), &in); err != nil || home.status != 200 || in.Device == "" {
		t.Fatalf("login: got %d %s", home.status, home.body)
	}
	for i := range 100 { // four from each of five addresses in each network
		if a := login(fmt.Sprintf("203.0.%d.%d", i/20, i/4%5), "alice", "a guess of many, each other", ""); a.status != 401 {
			t.Fatalf("guess %d: got %d %s", i+1, a.status, a.body)
		}
	}
	held := func(when string) {
		t.Helper()
		a := login("198.51.100.7", "alice", password, "")
		if a.status != 429 || !strings.HasPrefix(a.header.Get("RateLimit-Policy"), `"login-account"`) {
			t.Errorf("%s: a stranger got %d %s", when, a.status, a.header.Get("RateLimit-Policy"))
		}
		for name, a := range map[string]answer{
			"at home": login("192.0.2.1", "alice", password, ""), "on the device": login("198.51.100.8", "alice", password, in.Device),
		} {
			if a.status != 200 {
				t.Errorf("%s: the owner %s got %d %s", when, name, a.status, a.body)
			}
		}
	}
	held("used up")
	long := strings.Repeat("x", 1100)
	var next, odd atomic.Int64
	var flood sync.WaitGroup
	for range 16 {
		flood.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if a := login(fmt.Sprintf("2001:db8:1:%x::1", i), fmt.Sprint("user", i), long, ""); a.status != 401 {
					odd.Add(1)
				}
			}
		})
	}
	flood.Wait()
	if odd.Load() > 0 {
		t.Errorf("%d of %d impossible passwords were not answered with 401", odd.Load(), n)
	}
	held("after a flood")
	if err := w.process.Stop(); err != nil {
		t.Fatal(err)
	}
	w = newWorld(t, settings...)
	w.file = filepath.Join(dir, "flakepass.db")
	held("after a restart")
}
