//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package flakepass_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
)

// behind sends a signed request for GET /orders through first, between and second. It returns the status,
// and the request that the handler got.
func behind(t *testing.T, first, second *flakepass.Guard, between func(*http.Request) *http.Request) (status int, got *http.Request) {
	t.Helper()
	inner := second.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	outer := first.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["X-Auth-Signature"]) > 0 {
			t.Error("a handler has the signature")
		}
		inner.ServeHTTP(w, between(r))
	}))
	w := httptest.NewRecorder()
	outer.ServeHTTP(w, forwarded(t, "127.0.0.1:4711", forwardedHeader(t, forwardKey(t, keyText), http.MethodGet, "/orders")))
	return w.Code, got
}

var signature = regexp.MustCompile(`[0-9]{10}\.[A-Za-z0-9_-]{43}`)

func same(r *http.Request) *http.Request { return r }

// TestGuardBehindAGuardBelievesTheSameProxy: one Guard is around all routes, and some have one with a role, derived from
// it as the manual says. The first takes the signature out of the headers.
func TestGuardBehindAGuardBelievesTheSameProxy(t *testing.T) {
	guard := &flakepass.Guard{Forwarded: &flakepass.Forwarded{Keys: []flakepass.ForwardKey{forwardKey(t, keyText)}}}
	status, got := behind(t, guard.Optional(), guard.Only(alice.Role), same)
	if status != http.StatusOK || got == nil {
		t.Fatal(status)
	}
	if who, ok := flakepass.FromContext(got.Context()); !ok || who.UserID != alice.UserID || len(got.Header["X-Auth-Signature"]) > 0 {
		t.Errorf("%v %v %v", who, ok, left(got.Header))
	}
	if shown := fmt.Sprintf("%v %+v", got.Context(), got.Context()); len(left(got.Header)) == 0 || !hides(shown) {
		t.Errorf("%s", shown)
	}
	// A third, and what a router does to the path of the routes below it.
	third := guard.Only(alice.Role)
	if status, _ := behind(t, guard, guard, func(r *http.Request) *http.Request {
		r, ok := third.Admit(httptest.NewRecorder(), r)
		if !ok {
			t.Fatal("the second of three refuses")
		}
		r.URL.Path = "/"
		return r
	}); status != http.StatusOK {
		t.Errorf("the third of three: %d", status)
	}
}

// TestGuardBehindAGuardBelievesNothingElse: it has the signature that came with the request, and checks by its own
// conditions what the request says now. So nobody gains by a Guard in front.
func TestGuardBehindAGuardBelievesNothingElse(t *testing.T) {
	key, other := forwardKey(t, keyText), forwardKey(t, keyText+"2")
	signed := &flakepass.Guard{Forwarded: &flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}}
	from := &flakepass.Guard{Forwarded: &flakepass.Forwarded{From: fromHere}}
	set := func(name, value string) func(*http.Request) *http.Request {
		return func(r *http.Request) *http.Request { r.Header.Set(name, value); return r }
	}
	for name, c := range map[string]struct {
		first, second *flakepass.Guard
		between       func(*http.Request) *http.Request
		want          int
	}{
		"another role":         {signed, signed, set("X-Auth-Role", "admin"), 503},
		"another user":         {signed, signed, set("X-Auth-User-Id", "1"), 503},
		"another signature":    {signed, signed, set("X-Auth-Signature", "1.AA"), 503},
		"another method":       {signed, signed, func(r *http.Request) *http.Request { r.Method = http.MethodDelete; return r }, 503},
		"another path":         {signed, signed, func(r *http.Request) *http.Request { r.RequestURI = "/users"; return r }, 503},
		"no identity any more": {signed, signed, func(r *http.Request) *http.Request { r.Header = http.Header{}; return r }, 401},
		"another key":          {signed, &flakepass.Guard{Forwarded: &flakepass.Forwarded{Keys: []flakepass.ForwardKey{other}}}, same, 503},
		"no condition":         {signed, &flakepass.Guard{Forwarded: &flakepass.Forwarded{}}, same, 503},
		"another address":      {signed, from, func(r *http.Request) *http.Request { r.RemoteAddr = "192.0.2.1:1"; return r }, 503},
		"signed, the first looks only at the address": {from, signed, same, 200},
		"forged, the first looks only at the address": {from, signed, set("X-Auth-Role", "admin"), 503},
		"a request of another with the context of this": {signed, signed, func(r *http.Request) *http.Request {
			who := alice
			who.UserID, who.Role = 1, "admin"
			h := http.Header{}
			flakepass.ForwardKey{}.Forward(h, &who, "", "")
			return forwarded(t, "127.0.0.1:4711", h).WithContext(r.Context())
		}, 503},
	} {
		if status, _ := behind(t, c.first, c.second, c.between); status != c.want {
			t.Errorf("%s: got %d, want %d", name, status, c.want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		if status, _ := behind(t, signed, signed, func(r *http.Request) *http.Request {
			time.Sleep(flakepass.ForwardWindow + 2*time.Second)
			return r
		}); status != http.StatusServiceUnavailable {
			t.Errorf("a signature that is too old: %d", status)
		}
	})
}

// hides reports whether a text has no signature.
func hides(text string) bool { return !signature.MatchString(text) }

// TestProxyAtALinkLocalAddressIsBelieved: the connection of a link-local proxy has a zone, and
// no netip.Prefix contains an address with one.
func TestProxyAtALinkLocalAddressIsBelieved(t *testing.T) {
	var why error
	g := &flakepass.Guard{
		Forwarded: &flakepass.Forwarded{From: []netip.Prefix{netip.MustParsePrefix("fe80::/10")}},
		Undecided: func(_ *http.Request, err error) { why = err },
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "[fe80::1%eth0]:4711"
	flakepass.ForwardKey{}.Forward(r.Header, &flakepass.Identity{UserID: 7, Username: "zoë", Role: "user", SessionID: 9}, "", "")
	w := httptest.NewRecorder()
	if _, ok := g.Admit(w, r); !ok {
		t.Errorf("%d: %v", w.Code, why)
	}
}
