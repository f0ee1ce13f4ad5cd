package httpapi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/httpapi"
)

// TestQuotaIsForEachCaller: one that asks too often is told when to try
// again, and no other caller notices.
func TestQuotaIsForEachCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ofService()
		h := handler(t, w, func(o *httpapi.Options) { o.IntrospectionRate = 3 })
		ask := func(path string) oauthAnswer { t.Helper(); return post(t, h, path, "token="+target) }
		for _, path := range []string{"/v1/introspect", "/v1/revoke", "/v1/introspect"} { // counted together
			if a := ask(path); a.status != 200 {
				t.Fatalf("got %d %s", a.status, a.body)
			}
		}
		asked, revoked := len(w.asked), len(w.revoked)
		for _, path := range []string{"/v1/introspect", "/v1/revoke"} {
			if a := ask(path); a.status != 429 || a.Code != "rate_limited" || a.header.Get("Retry-After") != "1" {
				t.Fatalf("one too many: got %d %s", a.status, a.body)
			}
		}
		if len(w.asked) != asked+2 || len(w.revoked) != revoked { // the caller's own token only
			t.Errorf("asked %d and revoked %d more", len(w.asked)-asked, len(w.revoked)-revoked)
		}
		w.identity = &flakepass.Identity{UserID: 9, Role: "admin"}
		if a := ask("/v1/introspect"); a.status != 200 {
			t.Errorf("another caller: got %d", a.status)
		}
		w.identity = &service
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		if a := ask("/v1/introspect"); a.status != 200 {
			t.Errorf("a second later: got %d", a.status)
		}
	})
}

// TestQuotaOfZeroCountsNothing: so an operator switches it off.
func TestQuotaOfZeroCountsNothing(t *testing.T) {
	h := handler(t, ofService(), nil)
	for range 50 {
		if a := post(t, h, "/v1/revoke", "token=x"); a.status != 200 {
			t.Fatalf("got %d %s", a.status, a.body)
		}
	}
}

// TestQuotaForgetsWhoHasRested: what it remembers is bounded, and whoever is
// still being held back is not let off for it, as long as others can be
// forgotten.
func TestQuotaForgetsWhoHasRested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := httpapi.NewQuota(1)
		for id := range idworker.ID(httpapi.MaxCallers) {
			th.Allow(id)
		}
		time.Sleep(2 * time.Second) //nolint:forbidigo // in a bubble
		const busy = 77
		if !th.Allow(busy) || th.Allow(busy) {
			t.Fatal("the busy one is not held back")
		}
		th.Allow(httpapi.MaxCallers + 1)
		if n := th.Len(); n > 3 || th.Allow(busy) {
			t.Errorf("%d remembered, want those who have not rested, and the busy one held back", n)
		}
		for id := range idworker.ID(2 * httpapi.MaxCallers) { // none of them rests
			th.Allow(id)
		}
		if n := th.Len(); n > httpapi.MaxCallers {
			t.Errorf("%d remembered", n)
		}
	})
}
