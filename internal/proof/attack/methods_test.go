//go:build unix

package attack

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/flakepass/flakepass/api"
)

// methods are those that a client may know, and some that none does.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "X"}

// contract is what the API is.
func contract(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.Spec())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// places are the paths of all that answers, each with the methods that it has, in
// order.
func places(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for path, item := range contract(t).Paths.Map() {
		for method := range item.Operations() {
			all[strings.ReplaceAll(path, "{id}", "1")] = append(all[strings.ReplaceAll(path, "{id}", "1")], method)
		}
	}
	const others = "/v1/me/sessions/logout-others" // is also /v1/me/sessions/{id}
	all[others] = append(all[others], all["/v1/me/sessions/1"]...)
	const get, post = "GET HEAD", "POST"
	for path, list := range map[string]string{
		"/console/": get, "/console/setup": get + " " + post, "/console/login": get + " " + post, "/console/logout": post, "/console/language": post,
		"/console/expiry": get + " " + post, "/console/expiry/revert": post, "/console/audit": get, "/console/audit.csv": get, "/console/audit.ndjson": get,
		"/console/users": get + " " + post, "/console/users/1": get + " " + post, "/console/logins": get, "/console/logins/end": post, "/console/logins/end-all": post,
		"/console/assets/console.css": get,
	} {
		all[path] = strings.Fields(list)
	}
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}

// TestOnlyTheMethodsOfTheContractAreAnswered: on every path, by 405 with the list
// of those that there are.
func TestOnlyTheMethodsOfTheContractAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.admin("root")
	for path, list := range places(t) {
		for _, method := range methods {
			if slices.Contains(list, method) {
				continue
			}
			request := method + " " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer " + token + "\r\nX-Canary: canary\r\n\r\n"
			if method == "CONNECT" { // of which the target is a host
				request = strings.Replace(request, path, "x:443", 1)
			}
			statuses, got := w.talk("", w.api, request)
			allow := strings.Split(got.header.Get("Allow"), ", ")
			slices.Sort(allow)
			switch {
			case method == "CONNECT":
				if !slices.Equal(statuses, []int{404}) {
					t.Errorf("%s: got %v", method, statuses)
				}
			case !slices.Equal(statuses, []int{405}) || !slices.Equal(allow, list):
				t.Errorf("%s %s: got %v, and Allow %v; want 405 and %v", method, path, statuses, allow, list)
			}
			if strings.Contains(got.body, "canary") || strings.Contains(got.body, token) {
				t.Errorf("%s %s: the answer repeats the request", method, path)
			}
		}
	}
	w.alive(token)
}

// TestEveryAnswerIsHardened: those of errors as well, and on both ports.
func TestEveryAnswerIsHardened(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.admin("root")
	// What ends the only admin's login is asked for without a token.
	for path := range places(t) {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS"} {
			hardened(t, method+" "+path, w.send(method, w.api, path, ""))
			hardened(t, method+" "+path+" of another origin", w.send(method, w.api, path, "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST"))
			if method == "GET" && path != "/v1/revocations" { // which is a stream
				hardened(t, "as an admin, "+path, w.send(method, w.api, path, "", bearer(token)...))
			}
		}
	}
	for _, path := range []string{"/", "/nowhere", "/v1/me/", "/console/nowhere", "/console/assets/nowhere.js", "/console//", "/%00", "/v1/admin/users/x"} {
		hardened(t, path, w.send("GET", w.api, path, ""))
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/nowhere", "/debug/pprof/"} {
		for _, method := range []string{"GET", "POST"} {
			if a := w.send(method, w.ops, path, ""); a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("the operators' %s %s: %d %v", method, path, a.status, a.header)
			}
		}
	}
}

func hardened(t *testing.T, what string, a answer) {
	t.Helper()
	policy := a.header.Get("Content-Security-Policy")
	if a.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("%s: %d %v", what, a.status, a.header)
	}
	// Pages of the console may be told which of them a form was on.
	if got := a.header.Get("Referrer-Policy"); got != "no-referrer" && (got != "same-origin" || !strings.Contains(what, "/console")) {
		t.Errorf("%s: %d has the Referrer-Policy %q", what, a.status, got)
	}
	if a.status >= 400 && a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: %d may be kept: %q", what, a.status, a.header.Get("Cache-Control"))
	}
	for name, values := range a.header {
		if name == "Server" || name == "X-Powered-By" || strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s: %s is %q", what, name, values)
		}
	}
	if a.body != "" && a.header.Get("Content-Type") == "" {
		t.Errorf("%s: %d has a body of no type", what, a.status)
	}
}

// TestNoRedirectTakesATokenAlong: of the API there is none at all; the console's
// lead to its own pages.
func TestNoRedirectTakesATokenAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.admin("root")
	for path := range places(t) {
		for _, variant := range []string{path + "/", "/" + path, strings.ToUpper(path), "/." + path, "/x/.." + path, strings.Replace(path, "/", "//", 2),
			path + "/.", path + "%2f", path + ";a", "/console/.." + path, "/console//evil.example" + path, "/console/%2e%2e" + path, "/console/\\evil.example", "//evil.example/console/" + path} {
			for _, method := range []string{"GET", "POST"} {
				r, err := http.NewRequestWithContext(t.Context(), method, "http://"+w.api+"/", nil)
				if err != nil {
					t.Fatal(err)
				}
				r.URL.Opaque = variant // as it is
				if strings.HasPrefix(variant, "//") {
					r.URL.Opaque = "http://" + w.api + variant
				}
				r.Header.Set("Authorization", "Bearer "+token)
				got := w.do(r)
				to := got.header.Get("Location")
				if (got.status/100 == 3 || to != "") && (!strings.HasPrefix(to, "/console/") || strings.Contains(to, "//") || strings.Contains(to, token) || strings.Contains(to, "\\")) {
					t.Errorf("%s %s: got %d to %q", method, variant, got.status, to)
				}
			}
		}
	}
}
