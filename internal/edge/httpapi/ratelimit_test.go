package httpapi_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

// TestQuotaIsForEachCaller: one that asks too often learns when to try
// again, and no other caller notices.
func TestQuotaIsForEachCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := limit.Default()
		limits.Introspect = limit.Rule{Count: 3, Per: time.Second}
		limiter := &ratelimit.Limiter{Store: &memstore.Buckets{}, Limits: func() *limit.Limits { return &limits }}
		w := ofService()
		h := handler(t, w, func(o *httpapi.Options) { o.Quota = limiter })
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
		w.identity = &flakepass.Identity{UserID: 9, Role: "admin", DeviceClass: "other"}
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

// TestQuotaCountsTokens, by whatever route a caller asks about them: a question about
// many takes as many or none, and one that takes more than there ever are learns
// so.
func TestQuotaCountsTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := limit.Default()
		limits.Introspect = limit.Rule{Count: 10, Per: 10 * time.Second}
		limiter := &ratelimit.Limiter{Store: &memstore.Buckets{}, Limits: func() *limit.Limits { return &limits }}
		h := asService(t, &world{}, func(o *httpapi.Options) { o.Quota = limiter })
		ask := func(tokens int, want int, more ...string) {
			t.Helper()
			body := `{"tokens":[` + strings.TrimSuffix(strings.Repeat(`"`+target+`",`, tokens), ",") + `]` + strings.Join(more, "") + `}`
			if status, text := send(t, h, "POST", "/v1/verifications", body); status != want {
				t.Errorf("a question about %d tokens: got %d %s, want %d", tokens, status, text, want)
			}
		}
		ask(6, 200)
		ask(5, 429)
		ask(4, 200)
		ask(1, 429)
		if a := post(t, h, "/v1/introspect", "token="+target); a.status != 429 || a.header.Get("RateLimit-Policy") != `"introspect";q=10;w=10` {
			t.Errorf("another route: got %d %v", a.status, a.header)
		}
		time.Sleep(3 * time.Second) //nolint:forbidigo // in a bubble
		ask(4, 429)
		ask(3, 200)
		time.Sleep(10 * time.Second) //nolint:forbidigo // in a bubble
		if status, text := send(t, h, "POST", "/v1/verifications", `{"tokens":[`+strings.Repeat(`"x",`, 10)+`"x"]}`); status != 422 ||
			!strings.Contains(text, "must have at most 10 tokens") {
			t.Errorf("more than there ever are: %d %s", status, text)
		}
		use := `,"used":[{"session_id":"9","proof":"` + strings.Repeat("A", 43) + `","ago_ms":5}]`
		for range 10 { // one that only reports uses takes one
			ask(0, 200, use)
		}
		ask(0, 429, use)
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

// TestRightCurrentPasswordIsNoGuess: a person whose new password is refused
// has shown to know the current one, and need not wait.
func TestRightCurrentPasswordIsNoGuess(t *testing.T) {
	for err, known := range map[error]int{
		&invalid.Error{Fields: []invalid.Field{{Field: "password", Code: account.CodeTooLong, Message: "must be shorter"}}}: 1,
		account.ErrWrong:        0,
		account.ErrBusy:         0,
		errors.New("no answer"): 0,
	} {
		w := &world{change: err}
		ask(t, handler(t, w, nil), "PUT", "/v1/me/password", `{"current_password":"a","new_password":"b"}`)
		if len(w.tries) != 1 || len(w.known) != known {
			t.Errorf("%v: %d attempts, %d known to be the owner's; want 1 and %d", err, len(w.tries), len(w.known), known)
		}
	}
}
