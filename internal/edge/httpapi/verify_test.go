package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/edge/httpapi"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// verified is what GET /v1/verify answers to a proxy that asks about that
// request; empty for a proxy that does not say.
func verified(t *testing.T, key flakepass.ForwardKey, method, target string) http.Header {
	t.Helper()
	h := handler(t, &world{}, func(o *httpapi.Options) { o.ForwardKey = key })
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/verify", nil)
	req.RequestURI = "" // it is a client's
	req.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
	for name, value := range map[string]string{"X-Forwarded-Method": method, "X-Forwarded-Uri": target} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	// What a client puts there comes back in no answer.
	req.Header.Set("X-Auth-Role", "admin")
	req.Header.Set("X-Auth-Signature", "forged")
	resp, err := (&http.Client{Transport: apitest.Transport(t, direct{h})}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("got %s", resp.Status)
	}
	return resp.Header
}

// What a proxy copies out of the answer is believed by the service behind it, for
// the request that the proxy asked about and for no other.
func TestVerifySignsWhatTheProxyAsksAbout(t *testing.T) {
	key, err := flakepass.NewForwardKey(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	guard := &flakepass.Guard{Forwarded: &flakepass.Forwarded{Keys: []flakepass.ForwardKey{key}}}
	for name, c := range map[string]struct {
		key            flakepass.ForwardKey
		method, target string
		believed       bool
	}{
		"signed":         {key, "POST", "/orders?x=1", true},
		"another method": {key, "GET", "/orders", false},
		"another path":   {key, "POST", "/order", false},
		"no method":      {key, "", "/orders", false},
		"no path":        {key, "POST", "", false},
		"no key":         {flakepass.ForwardKey{}, "POST", "/orders", false},
	} {
		got := verified(t, c.key, c.method, c.target)
		if (got.Get("X-Auth-Signature") != "") != (!c.key.IsZero() && c.method != "" && c.target != "") {
			t.Errorf("%s: signature %q", name, got.Get("X-Auth-Signature"))
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", nil)
		for header := range got {
			if strings.HasPrefix(header, "X-Auth-") {
				r.Header[header] = got[header]
			}
		}
		next, ok := guard.Admit(httptest.NewRecorder(), r)
		if ok != c.believed {
			t.Errorf("%s: believed %t, want %t", name, ok, c.believed)
			continue
		}
		if ok {
			if id, _ := flakepass.FromContext(next.Context()); id.Username != who.Username || id.Role != who.Role || id.UserID != who.UserID {
				t.Errorf("%s: got %+v", name, id)
			}
		}
	}
}

// Times are sent to apps and proxies alike, also with an answer that is no
// success, and not to those who were not let in.
func TestTimesLeftAreOnEveryGuardedAnswer(t *testing.T) {
	w := &world{}
	for _, c := range []struct {
		method, path string
		verify       error
		want         bool
	}{
		{"GET", "/v1/me", nil, true},
		{"GET", "/v1/verify", nil, true},
		{"PUT", "/v1/me/password", nil, true}, // 415: it has no body
		{"GET", "/v1/me", flakepass.ErrIdle, false},
	} {
		w.verify = c.verify
		got := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
		r.Header.Set("Authorization", "Bearer "+flakepass.NewToken(who.SessionID).Reveal())
		handler(t, w, nil).ServeHTTP(got, r)
		for _, name := range []string{flakepass.ExpiresInHeader, flakepass.IdleExpiresInHeader} {
			if values := got.Header().Values(name); (len(values) == 1) != c.want {
				t.Errorf("%s %s: %s is %q", c.method, c.path, name, values)
			}
		}
	}
}
