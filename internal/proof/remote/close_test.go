//nolint:forbidigo // the Sleep is in a synctest bubble
package remote_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
)

// TestClosedRemoteAnswersNothing: neither what it remembers nor a refusal, also of a login that
// it knows to be over, for a Remote that receives no logout knows less and less.
func TestClosedRemoteAnswersNothing(t *testing.T) {
	in(t, 1, func(t *testing.T, h *house) {
		r := h.remote(newNetwork(h.places[0]), nil)
		alice, bob := h.login("alice", "user"), h.login("bob", "user")
		h.logout(bob, h.places[0], true)
		h.bad(r, bob, flakepass.ErrLoggedOut)
		time.Sleep(2 * time.Second) // the stream makes what is remembered good for long
		h.good(r, alice)
		r.Close()
		for what, token := range map[string]flakepass.Token{"remembered": alice, "over": bob, "never seen": h.login("carol", "user"), "none": {}, "older than all": flakepass.NewToken(1)} {
			who, err := r.Verify(context.Background(), token)
			if _, refused := err.(*flakepass.Refusal); err == nil || refused { //nolint:errorlint // refusals are not wrapped
				t.Errorf("%s: %+v, %v; want an error that is no refusal", what, who, err)
			}
		}
		guarded := (&flakepass.Guard{Verifier: r}).Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("let through") }))
		req, answer := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), httptest.NewRecorder()
		req.Header.Set("Authorization", "Bearer "+alice.Reveal())
		if guarded.ServeHTTP(answer, req); answer.Code != http.StatusServiceUnavailable {
			t.Errorf("a Guard answers %d", answer.Code)
		}
	})
}
