//go:build unix

package proxies

import (
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Traefik and Envoy cannot be run here: the modules of the one are not all on
// the module proxy, and Debian has no package of the other. So their files are
// read, and a stand-in does with them what their documentation says. It shows
// that the lists in the files are complete and that flakepass answers what they
// need; it cannot show what the real proxy does beyond its documentation.
type standIn struct {
	strip    []string // taken out of what the client sent
	set      []string // name, value, ... put in its place; CLIENT is the address of the client
	method   string   // of the question; empty: the client's
	url      string   // of the question
	ask      []string // headers of the client that go with the question; nil: all
	copy     []string // headers of the answer that go to the service, on 2xx
	toClient []string // headers of the answer that go to the client, on anything else; nil: all
	drop     []string // taken out of what goes to the service
	open     string   // the prefix that needs no token
	service  string   // host:port
	aliases  bool     // names such as X_Forwarded_For are taken out
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	client, _, _ := net.SplitHostPort(r.RemoteAddr)
	for _, name := range s.strip {
		r.Header.Del(name)
	}
	for i := 0; i < len(s.set); i += 2 {
		r.Header.Set(s.set[i], strings.ReplaceAll(s.set[i+1], "CLIENT", client))
	}
	if s.aliases {
		maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return strings.ContainsAny(name, "_.~") })
	}
	if !strings.HasPrefix(r.URL.Path, s.open) {
		q, err := http.NewRequestWithContext(r.Context(), s.method, s.url, nil)
		if err != nil {
			panic(err)
		}
		q.Header = r.Header.Clone()
		q.Header.Del("Content-Length")
		q.Header.Set("X-Forwarded-Method", r.Method)
		q.Header.Set("X-Forwarded-Uri", r.RequestURI)
		if s.ask != nil {
			q.Header = only(q.Header, s.ask)
		}
		a, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		defer a.Body.Close()
		if a.StatusCode/100 != 2 {
			h := a.Header
			if s.toClient != nil {
				h = only(h, s.toClient)
			}
			for name, values := range h {
				w.Header()[name] = values
			}
			w.WriteHeader(a.StatusCode)
			_, _ = io.Copy(w, a.Body)
			return
		}
		for _, name := range s.copy {
			r.Header.Del(name)
			if v := a.Header.Values(name); len(v) > 0 {
				r.Header[http.CanonicalHeaderKey(name)] = v
			}
		}
	}
	for _, name := range s.drop {
		r.Header.Del(name)
	}
	// It sends the headers as they are: none is added, and none removed.
	(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(&url.URL{Scheme: "http", Host: s.service})
		p.Out.Header = p.In.Header
	}}).ServeHTTP(w, r)
}

func only(h http.Header, names []string) http.Header {
	kept := http.Header{}
	for _, name := range names {
		if v := h.Values(name); len(v) > 0 {
			kept[http.CanonicalHeaderKey(name)] = v
		}
	}
	return kept
}

// read parses a file of docs/proxies.
func read(t testing.TB, path string) (v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// find returns all that stands under that key, wherever it is.
func find(v any, key string) (found []any) {
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			if k == key {
				found = append(found, value)
			}
			found = append(found, find(value, key)...)
		}
	case []any:
		for _, value := range v {
			found = append(found, find(value, key)...)
		}
	}
	return found
}

func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	case map[string]any:
		for k, e := range v {
			if k == "exact" || k == "remove" {
				all = append(all, texts(e)...)
			}
		}
	}
	return all
}

// one is what stands under that key, which must be there once.
func one(t testing.TB, v any, key string) any {
	t.Helper()
	found := find(v, key)
	if len(found) != 1 {
		t.Fatalf("%s is there %d times", key, len(found))
	}
	return found[0]
}

func asTraefik(t testing.TB, w *world) {
	if got := texts(one(t, read(t, "../../../docs/proxies/traefik.yml"), "aliasHeadersStrategy")); len(got) != 1 || got[0] != "delete" {
		t.Errorf("aliasHeadersStrategy is %v", got)
	}
	v := read(t, w.config("traefik-dynamic.yml"))
	s := &standIn{method: http.MethodGet, open: "/open/", service: w.service.addr}
	s.url = texts(one(t, v, "address"))[0]
	s.copy = texts(one(t, v, "authResponseHeaders"))
	removed := func(middleware string) (names []string) {
		list, _ := one(t, one(t, v, middleware), "customRequestHeaders").(map[string]any)
		for name, value := range list {
			if value != "" {
				t.Errorf("%s sets %s", middleware, name)
			}
			names = append(names, name)
		}
		return names
	}
	s.strip, s.drop = removed("strip"), removed("keep-token-here")
	s.aliases = true
	// Traefik takes out what a client says of its address, X-Forwarded-* and
	// X-Real-Ip, unless the entry point or the middleware is configured to believe it
	// (forwardedHeaders, trustForwardHeader), and says what it sees.
	if list := find(read(t, "../../../docs/proxies/traefik.yml"), "forwardedHeaders"); len(list) > 0 {
		t.Errorf("an entry point believes what clients say of their addresses: %v", list)
	}
	if believes := one(t, v, "trustForwardHeader"); believes != false {
		t.Errorf("trustForwardHeader is %v", believes)
	}
	s.set = []string{"X-Forwarded-For", "CLIENT", "X-Real-Ip", "CLIENT"}
	// It has no such rule for Forwarded: the middleware that every router has first
	// takes it out.
	for name, router := range one(t, v, "routers").(map[string]any) { //nolint:forcetypeassert // a panic fails the test
		if list := texts(one(t, router, "middlewares")); len(list) == 0 || list[0] != "strip" {
			t.Errorf("the router %s has the middlewares %v, and not strip first", name, list)
		}
	}
	listen(t, w, s)
}

func asEnvoy(t testing.TB, w *world) {
	v := read(t, "../../../docs/proxies/envoy.yaml")
	patterns := func(key string) []string { return texts(one(t, one(t, v, key), "patterns")) }
	s := &standIn{
		strip: texts(one(t, v, "request_mutations")), method: texts(one(t, v, "method_override"))[0],
		url: "http://" + w.api + texts(one(t, v, "path_override"))[0], ask: patterns("allowed_headers"),
		copy: patterns("allowed_upstream_headers"), toClient: patterns("allowed_client_headers"),
		drop: texts(one(t, v, "request_headers_to_remove")), open: "/open/", service: w.service.addr,
	}
	// X-Forwarded-For has to be set to the address that is connected: Envoy hands on
	// what a client sent, and takes DOWNSTREAM_REMOTE_ADDRESS from it.
	s.aliases = one(t, v, "headers_with_underscores_action") == "REJECT_REQUEST"
	for _, mutation := range find(one(t, v, "request_mutations"), "header") {
		key, _ := one(t, mutation, "key").(string)
		value, _ := one(t, mutation, "value").(string)
		if s.set = append(s.set, key, strings.ReplaceAll(value, "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%", "CLIENT")); strings.HasPrefix(value, "%REQ(") {
			s.set = s.set[:len(s.set)-2] // of the request, which the stand-in sets itself
		}
	}
	for _, action := range find(one(t, v, "request_mutations"), "append_action") {
		if action != "OVERWRITE_IF_EXISTS_OR_ADD" {
			t.Errorf("a header is set by %v, beside what the client sent", action)
		}
	}
	if allow, _ := one(t, v, "failure_mode_allow").(bool); allow {
		t.Error("failure_mode_allow lets every client in when flakepass is away")
	}
	listen(t, w, s)
}

func listen(t testing.TB, w *world, h http.Handler) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	w.proxy = server.Listener.Addr().String()
}

// TestFilesOfTheOtherProxiesAreComplete: with what they list, the service
// believes the right ones and a client reads the refusal.
func TestFilesOfTheOtherProxiesAreComplete(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, *world){"traefik": asTraefik, "envoy": asEnvoy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			if seen, said := w.service.arrived(); len(seen)+len(said) > 0 {
				t.Fatal("a request came before the test")
			}
			for _, identity := range []string{"X-Auth-User-Id", "X-Auth-Username", "X-Auth-Role", "X-Auth-Session-Id", "X-Auth-Expires-In", "X-Auth-Idle-Expires-In", "X-Auth-Act", "X-Auth-Signature"} {
				if got := w.ask("GET", "/open/news", "", identity, "FORGED"); got.status != 200 || got.Username != "" {
					t.Errorf("%s where every client may go: got %d %s", identity, got.status, got.body)
				}
				if got := w.ask("POST", "/orders?a=b", "body", append(w.bearer(), identity, "FORGED")...); got.status != 200 || got.Username != "alice" || got.Body != "body" {
					t.Errorf("%s beside a token: got %d %s", identity, got.status, got.body)
				}
			}
			seen, said := w.service.arrived()
			for _, h := range seen {
				if bad := forged(h); bad != "" || h.Get("Authorization") != "" {
					t.Errorf("the service saw %s, or the token", bad)
				}
			}
			if len(said) > 0 {
				t.Errorf("the service said %v", said)
			}
			got := w.ask("GET", "/orders", "", "Authorization", "Bearer x")
			if got.status != 401 || got.problem.Code != "token_malformed" || got.header.Get("Content-Type") != "application/problem+json" ||
				got.header.Get("Cache-Control") != "no-store" || !strings.Contains(got.header.Get("Www-Authenticate"), "invalid_token") {
				t.Errorf("refused: got %d %v %s", got.status, got.header, got.body)
			}
		})
	}
}
