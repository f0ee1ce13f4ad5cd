package deploytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// A history is the answers that one person received, up to the moment when the server died.
type history struct {
	name, password string

	last  string // token of the last login that was acknowledged
	ended bool   // its logout was acknowledged
	asked string // the request that was not answered: "login", "logout" or ""
	acks  int    // answers in this round
}

// TestKilledServerKeepsItsWord kills the server again and again while people
// log in and out. After each start, every login that was acknowledged is as the
// last answers about it said, or as the one request without an answer would
// have made it.
func TestKilledServerKeepsItsWord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	people := []*history{{name: "alice"}, {name: "bob"}, {name: "carol"}}
	p := e2e.StartProcess(t, dir, e2e.AnyPort())
	c := e2e.NewClient(t, p.Public)
	for _, h := range people {
		h.password = e2e.NewPassword()
		c.Want(c.Register(h.name, h.password), 201, "")
	}
	var last uint64
	for round := range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		acks := make(chan struct{}, 1000)
		for _, h := range people {
			h.asked, h.acks = "", 0
			all.Go(func() { h.live(ctx, t, p.Public, acks) })
		}
		// At any moment, after some answers: in the middle of a request.
		for range 3 + rand.IntN(10) {
			select {
			case <-acks:
			case <-time.After(e2e.Patience):
				t.Fatalf("no request is answered\n%s", p.Log)
			}
		}
		p.Signal(t, syscall.SIGKILL)
		<-p.Ended
		cancel()
		all.Wait()

		p = e2e.StartProcess(t, dir, e2e.AnyPort())
		c = e2e.NewClient(t, p.Public)
		for _, h := range people {
			if h.last == "" {
				continue
			}
			a := c.Me(h.last)
			got := a.Field("code")
			if a.Status == 200 {
				got = "alive"
			}
			if want := h.allowed(); !strings.Contains(want, got) {
				t.Errorf("round %d, %s: the login is %s, want %s", round, h.name, got, want)
			}
			// A logout without an answer that was done is known from now on: in the
			// next round this may still be the last login that was acknowledged.
			h.ended = got == "token_logged_out"
		}
		// IDs grow, whatever the last process had in hand when it died.
		opened := c.Want(c.TryLogin("alice", people[0].password), 200, "")
		var id uint64
		if _, err := fmt.Sscan(opened.Field("session_id"), &id); err != nil || id <= last {
			t.Errorf("round %d: session %d after %d", round, id, last)
		}
		last, people[0].last, people[0].ended = id, opened.Field("token"), false
	}
}

// allowed is what the last login may be after a restart.
func (h *history) allowed() string {
	switch {
	case h.ended:
		return "token_logged_out"
	case h.asked == "login":
		return "alive or token_replaced"
	case h.asked == "logout":
		return "alive or token_logged_out"
	default:
		return "alive"
	}
}

// live logs in and out until the server is gone.
func (h *history) live(ctx context.Context, t *testing.T, address string, acks chan<- struct{}) {
	next := &http.Transport{}
	defer next.CloseIdleConnections()
	app := &http.Client{Transport: next, Timeout: e2e.Patience}
	send := func(path, body, token string) (status int, opened struct{ Token string }, ok bool) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, bytes.NewReader([]byte(body)))
		if err != nil {
			t.Error(err)
			return 0, opened, false
		}
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := app.Do(req)
		if err != nil {
			return 0, opened, false
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&opened) != nil {
			return 0, opened, false
		}
		return resp.StatusCode, opened, true
	}
	for ctx.Err() == nil {
		h.asked = "login"
		status, opened, ok := send("/v1/login", e2e.Object("username", h.name, "password", h.password), "")
		if !ok {
			return
		}
		if status != 200 {
			t.Errorf("%s: login answered %d", h.name, status)
			return
		}
		h.asked, h.last, h.ended = "", opened.Token, false
		h.acks++
		acks <- struct{}{}
		if rand.IntN(3) == 0 {
			continue // the next login replaces this one
		}
		h.asked = "logout"
		if status, _, ok = send("/v1/logout", "", h.last); !ok {
			return
		}
		if status != 204 {
			t.Errorf("%s: logout answered %d", h.name, status)
			return
		}
		h.asked, h.ended = "", true
		h.acks++
		acks <- struct{}{}
	}
}
