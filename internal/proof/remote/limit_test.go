//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package remote_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestRemoteOverItsLimitIsUndecided: a token about which the service may not ask is
// undecided. The answer is to come again, and not that the token is bad.
func TestRemoteOverItsLimitIsUndecided(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		r, end := h.remoteAlone(newNetwork(h.places[0]), nil)
		defer end()
		alice := h.login("alice", "user")
		h.limit.closed.Store(true)
		_, err := r.Verify(context.Background(), alice)
		if _, refused := errors.AsType[*flakepass.Refusal](err); err == nil || refused || errors.Is(err, flakepass.ErrCredential) {
			t.Errorf("got %v, want an error that is no refusal", err)
		}
		w, req := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		req.Header.Set("Authorization", "Bearer "+alice.Reveal())
		(&flakepass.Guard{Verifier: r}).Handler(http.NotFoundHandler()).ServeHTTP(w, req)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("the guard answers %d %v, want 503 with Retry-After", w.Code, w.Header())
		}
		h.limit.closed.Store(false)
		h.good(r, alice)
	})
}

// TestRemoteAsksAboutAsManyAsTheServerTakes: where the limit allows fewer tokens at
// once than a call has, all are answered all the same.
func TestRemoteAsksAboutAsManyAsTheServerTakes(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		h.limit.most.Store(7)
		n := newNetwork(h.places[0])
		n.out = 5 * time.Millisecond
		r, end := h.remoteAlone(n, nil)
		defer end()
		var all sync.WaitGroup
		for _, token := range h.people(150) {
			all.Go(func() { h.good(r, token) })
		}
		all.Wait()
		if most := h.limit.asked.Load(); most < 2 || most > 7 {
			t.Errorf("at most %d tokens in a call, want up to 7", most)
		}
	})
}

// TestRemoteKeepsUsesThatTheLimitRefuses: they are reported later, and the login does
// not go idle.
func TestRemoteKeepsUsesThatTheLimitRefuses(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		p := policy.Default()
		p.Touch = time.Second
		h.truth.change(p)
		time.Sleep(2 * time.Second)
		r := h.remote(newNetwork(h.places[0]), nil)
		alice := h.login("alice", "user")
		h.good(r, alice)
		time.Sleep(10 * time.Second)
		h.limit.closed.Store(true)
		used := time.Now()
		h.good(r, alice)
		time.Sleep(5 * time.Second) // it is refused meanwhile
		h.limit.closed.Store(false)
		time.Sleep(5 * time.Second)
		if seen := h.truth.seen(session.IDOf(alice)); seen.Before(used.Add(-time.Second)) {
			t.Errorf("last seen %v before it was used", used.Sub(seen))
		}
	})
}
