package flakepass_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
)

// TestForwardedSaysWhoActs, and only if it is signed: who acts can be neither added nor taken
// away. What nobody acts in is signed as before.
func TestForwardedSaysWhoActs(t *testing.T) {
	key, err := flakepass.NewForwardKey("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	guard := &flakepass.Guard{Forwarded: &flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}}
	for _, c := range []struct {
		act   flakepass.ID
		edit  func(http.Header)
		taken bool
	}{
		{7, func(http.Header) {}, true},
		{0, func(http.Header) {}, true},
		{7, func(h http.Header) { h.Del("X-Auth-Act") }, false},
		{7, func(h http.Header) { h.Set("X-Auth-Act", "8;2") }, false},
		{7, func(h http.Header) { h.Set("X-Auth-Act", "") }, false},
		{0, func(h http.Header) { h.Set("X-Auth-Act", "7;2") }, false},
		{0, func(h http.Header) { h.Set("X-Auth-Act", "7;2"); h.Del("X-Auth-Session-Id") }, false},
		{7, func(h http.Header) { h.Add("X-Auth-Act", "7;2") }, false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/orders", nil)
		r.Header.Set("X-Auth-Act", "99") // of the client
		key.Forward(r.Header, &flakepass.Identity{UserID: 1, Username: "ada", Role: "user", SessionID: 2, Act: c.act}, http.MethodGet, "/orders")
		c.edit(r.Header)
		r.Header.Set("X_Auth_Act", "98")
		next, ok := guard.Admit(httptest.NewRecorder(), r)
		if ok != c.taken {
			t.Errorf("%+v: taken %v", c.act, ok)
		}
		if !ok {
			continue
		}
		if who, _ := flakepass.FromContext(next.Context()); who.Act != c.act || next.Header.Get("X_Auth_Act") != "" || (next.Header.Get("X-Auth-Act") != "") != (c.act != 0) {
			t.Errorf("act %d: %+v, %v", c.act, who, next.Header)
		}
	}
}

// TestNoImpersonationArrivesWithoutItsMark, also if nothing is signed: a client may ask the
// proxy to drop a header on the way (RFC 9110 section 7.6.1).
func TestNoImpersonationArrivesWithoutItsMark(t *testing.T) {
	from := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // of httptest
	guard := &flakepass.Guard{Forwarded: &flakepass.Forwarded{From: from}}
	take := func(act flakepass.ID, edit func(http.Header)) (flakepass.Identity, bool) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/orders", nil)
		flakepass.ForwardKey{}.Forward(r.Header, &flakepass.Identity{UserID: 1, Username: "ada", Role: "user", SessionID: 2, Act: act}, "", "")
		edit(r.Header)
		next, ok := guard.Admit(httptest.NewRecorder(), r)
		if !ok {
			return flakepass.Identity{}, false
		}
		who, _ := flakepass.FromContext(next.Context())
		return who, true
	}
	for _, act := range []flakepass.ID{0, 7} {
		if who, ok := take(act, func(http.Header) {}); !ok || who.Act != act || who.SessionID != 2 || who.IssuedAt.IsZero() {
			t.Errorf("act %d: %+v, %v", act, who, ok)
		}
		for _, drop := range []string{"X-Auth-User-Id", "X-Auth-Username", "X-Auth-Role", "X-Auth-Session-Id", "X-Auth-Act", "X-Auth-Expires-In", "X-Auth-Signature"} {
			if who, ok := take(act, func(h http.Header) { h.Del(drop) }); ok && who.Act != act {
				t.Errorf("act %d without %s: %+v", act, drop, who)
			}
		}
	}
	for _, text := range []string{"7", "7;", ";2", ";", "7;2;3", "7;x", "0;2", "x;2"} {
		if who, ok := take(7, func(h http.Header) { h.Set("X-Auth-Act", text) }); ok {
			t.Errorf("%q: %+v", text, who)
		}
	}
	if who, ok := take(7, func(h http.Header) { h.Set("X-Auth-Session-Id", "2") }); ok { // nothing answers both
		t.Errorf("both: %+v", who)
	}
}
