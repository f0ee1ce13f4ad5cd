package flakepass_test

import (
	"net/http"
	"net/http/httptest"
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
		{7, func(h http.Header) { h.Set("X-Auth-Act", "8") }, false},
		{7, func(h http.Header) { h.Set("X-Auth-Act", "") }, false},
		{0, func(h http.Header) { h.Set("X-Auth-Act", "7") }, false},
		{7, func(h http.Header) { h.Add("X-Auth-Act", "7") }, false},
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
