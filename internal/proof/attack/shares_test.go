//go:build unix

package attack

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestOneNetworkLeavesLoginsToOthers: 128 connections of one IPv6 /48, each with a
// /64 of its own, guess as fast as they can. Who comes from another network is
// logged in, and so is a device of the flooding network that was logged in before.
func TestOneNetworkLeavesLoginsToOthers(t *testing.T) {
	t.Parallel()
	const connections = 128
	n := 20
	if whole() {
		n = 200
	}
	w := newWorld(t, "TRUSTED_PROXIES=127.0.0.1", "THROTTLE=off", "HASH_WORKERS=2")
	from := func(address string) []string { return []string{"X-Forwarded-For", address} }
	in := func(i int) []string { return from(fmt.Sprintf("2001:db8:1:%x::1", i)) }
	w.register("alice")
	login := func(headers ...string) answer {
		return w.send("POST", w.api, "/v1/login", object("username", "alice", "password", password), headers...)
	}
	home, other := from("192.0.2.7"), from("198.51.100.7")
	first := login(home...)
	if first.status != http.StatusOK {
		t.Fatalf("before the flood: got %d %s", first.status, first.body)
	}
	token := first.field("token")

	done := make(chan struct{})
	var refused, busy, asked atomic.Int64
	var flood sync.WaitGroup
	for i := range connections {
		flood.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				a := w.send("POST", w.api, "/v1/login", object("username", fmt.Sprint("name-", i), "password", "a guess of many, each other"), in(i)...)
				asked.Add(1)
				switch a.status {
				case http.StatusUnauthorized:
					refused.Add(1)
				case http.StatusServiceUnavailable:
					busy.Add(1)
					if a.header.Get("Retry-After") == "" || !strings.Contains(a.body, `"code":"busy"`) {
						t.Errorf("503 without Retry-After, or with another code: %s", a.body)
					}
				default:
					t.Errorf("a guess got %d %s", a.status, a.body)
				}
			}
		})
	}
	defer func() { close(done); flood.Wait() }()
	for busy.Load() == 0 { // the queue is full
		if a := w.send("GET", w.api, "/v1/me", "", bearer(token)...); a.status != http.StatusOK {
			t.Fatalf("a living token gets %d", a.status)
		}
	}
	for name, headers := range map[string][]string{
		"the owner, at a known place":                        home,
		"the owner, elsewhere":                               other,
		"the owner, on a known device amid the flood's /48s": nil,
	} {
		got := map[int]int{}
		var took []time.Duration
		for range n {
			headers := headers
			if headers == nil {
				headers = append(in(9999), bearer(token)...)
			}
			start := time.Now()
			a := login(headers...)
			took = append(took, time.Since(start))
			if got[a.status]++; a.status == http.StatusOK {
				token = a.field("token")
			}
		}
		slices.Sort(took)
		if got[http.StatusOK]*100 < 95*n {
			t.Errorf("%s: of %d logins: %v", name, n, got)
		}
		t.Logf("%s: of %d logins amid %d connections: %v; median %v, p99 %v", name, n, connections, got,
			took[n/2].Round(time.Millisecond), took[n*99/100].Round(time.Millisecond))
	}
	t.Logf("%d guesses: %d refused, %d have to wait", asked.Load(), refused.Load(), busy.Load())
}
