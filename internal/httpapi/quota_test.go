package httpapi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass"
	"github.com/flakepass/flakepass/internal/httpapi"
	"github.com/flakepass/flakepass/internal/limit"
	"github.com/flakepass/flakepass/internal/throttle"
	"github.com/flakepass/flakepass/internal/throttle/memlimit"
)

// TestQuotaIsForEachCaller: one that asks too often is told when to try
// again, and no other caller notices.
func TestQuotaIsForEachCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := limit.Default()
		limits.Introspect = limit.Rule{Count: 3, Per: time.Second}
		gate := &throttle.Gate{Store: &memlimit.Store{}, Limits: func() *limit.Limits { return &limits }}
		w := ofService()
		h := handler(t, w, func(o *httpapi.Options) { o.Gate = gate })
		ask := func(path string) oauthAnswer { t.Helper(); return post(t, h, path, "token="+target) }
		for _, path := range []string{"/v1/introspect", "/v1/revoke", "/v1/introspect"} { // counted together
			if a := ask(path); a.status != 200 {
				t.Fatalf("got %d %s", a.status, a.body)
			}
		}
		asked, revoked := len(w.asked), len(w.revoked)
		for _, path := range []string{"/v1/introspect", "/v1/revoke"} {
			if a := ask(path); a.status != 429 || a.Code != "rate_limited" || a.header.Get("Retry-After") != "1" ||
				a.header.Get("RateLimit-Policy") != `"introspect";q=3;w=1` || a.header.Get("RateLimit") != `"introspect";r=0;t=1` {
				t.Fatalf("one too many: got %d %v %s", a.status, a.header, a.body)
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
		limits.Introspect = limit.Rule{Count: 6, Per: time.Second} // as the policy has it now
		time.Sleep(400 * time.Millisecond)                         //nolint:forbidigo // in a bubble
		for i := range 3 {
			if a := ask("/v1/introspect"); (a.status == 200) != (i < 2) {
				t.Errorf("two fifths of a second after the limit was doubled, question %d: got %d", i+1, a.status)
			}
		}
	})
}

// TestNoQuotaCountsNothing: so an operator switches it off.
func TestNoQuotaCountsNothing(t *testing.T) {
	h := handler(t, ofService(), nil)
	for range 50 {
		if a := post(t, h, "/v1/revoke", "token=x"); a.status != 200 {
			t.Fatalf("got %d %s", a.status, a.body)
		}
	}
}
