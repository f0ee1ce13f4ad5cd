//go:build unix

package attack

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
)

// TestFloodOfHashesIsBounded: with nothing that limits guesses, thousands of
// logins at once fill neither memory nor the way of those who are logged in. As
// many passwords are hashed at a time as there are workers, 32 times as many
// wait, and the rest is answered at once when to come again.
func TestFloodOfHashesIsBounded(t *testing.T) {
	const workers, at = 2, 200
	n := 400
	if whole() {
		n = 5000
	}
	w := newWorld(t, "THROTTLE=off", "HASH_WORKERS="+strconv.Itoa(workers))
	w.register("alice")
	guess := object("username", "alice", "password", "a guess of many, each other")
	_, before := w.load()

	peak := before
	var got [600]atomic.Int64
	done := make(chan struct{})
	var looking, flood sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
				_, now := w.load()
				peak = max(peak, now)
			}
		}
	})
	var next atomic.Int64
	for range at {
		flood.Go(func() {
			for next.Add(1) <= int64(n) {
				a := w.send("POST", w.api, "/v1/login", guess)
				got[a.status].Add(1)
				if a.status == http.StatusServiceUnavailable && (a.header.Get("Retry-After") == "" || !strings.Contains(a.body, `"code":"busy"`)) {
					t.Errorf("503 without Retry-After, or with another code: %s", a.body)
				}
			}
		})
	}
	flood.Wait()
	close(done)
	looking.Wait()
	refused, busy := got[401].Load(), got[503].Load()
	if refused+busy != int64(n) || busy == 0 || refused < workers {
		t.Errorf("of %d guesses %d were refused and %d have to wait", n, refused, busy)
	}
	// Each hash takes 19 MiB, and leaves them to the collector.
	const room = 10
	each := float64(account.DefaultParams().MemoryKiB) / 1024
	t.Logf("%d guesses, %d at a time: %d refused, %d have to wait; memory %.0f MiB before, at most %.0f", n, at, refused, busy, before, peak)
	if peak > before+room*workers*each {
		t.Errorf("%.0f MiB amid the flood, %.0f before; want at most %d hashes more", peak, before, room*workers)
	}
	token := w.login("alice")
	w.alive(token)
	w.compareHashes(token, guess, n)
}

// compareHashes logs how long calls take at rest, amid n requests that come at
// 500 a second and are refused at sight, and amid as many guesses. What both
// floods cost those who send them is the same, and on the same machine.
func (w *world) compareHashes(token, guess string, n int) {
	for range 200 {
		w.alive(token)
	}
	rest := w.pace(token, func() { <-time.After(time.Second) })
	amid := func(body string) (p pace, hashed int64) {
		p = w.pace(token, func() {
			var flood sync.WaitGroup
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for range n {
				<-tick.C
				flood.Go(func() {
					if w.send("POST", w.api, "/v1/login", body).status == http.StatusUnauthorized {
						atomic.AddInt64(&hashed, 1)
					}
				})
			}
			flood.Wait()
		})
		return p, hashed
	}
	trifles, _ := amid("{")
	guesses, hashed := amid(guess)
	w.t.Logf("GET /v1/me, median / 99th of a hundred: at rest %v; amid %d trifles %v; amid %d guesses, %d of them hashed, %v", rest, n, trifles, n, hashed, guesses)
}

// A pace is how long calls took.
type pace struct{ median, p99 time.Duration }

func (p pace) String() string { return p.median.String() + " / " + p.p99.String() }

// pace asks with a living token, two at a time, while f runs. Each must be
// answered.
func (w *world) pace(token string, f func()) pace {
	w.t.Helper()
	done := make(chan struct{})
	var mu sync.Mutex
	var all []time.Duration
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				start := time.Now()
				a := w.send("GET", w.api, "/v1/me", "", bearer(token)...)
				took := time.Since(start)
				if a.status != 200 {
					w.t.Errorf("a living token got %d", a.status)
				}
				mu.Lock()
				all = append(all, took)
				mu.Unlock()
			}
		})
	}
	f()
	close(done)
	asking.Wait()
	slices.Sort(all)
	return pace{all[len(all)/2].Round(10 * time.Microsecond), all[len(all)*99/100].Round(10 * time.Microsecond)}
}
