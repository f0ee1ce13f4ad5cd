//go:build unix

package attack

import (
	"strings"
	"testing"
)

// TestHeadersMakeNoOtherUser: the identity headers of forward authentication mean
// nothing to flakepass itself, in no spelling, and no header changes what a
// request is.
func TestHeadersMakeNoOtherUser(t *testing.T) { //nolint:tparallel // its parts take turns on one server
	t.Parallel()
	w := newWorld(t)
	root, alice := w.admin("root"), w.register("alice")
	rootID, _ := w.idsOf(root)
	var headers [][2]string
	for name, value := range map[string]string{"X-Auth-User-Id": rootID, "X-Auth-Username": "root", "X-Auth-Role": "admin", "X-Auth-Session-Id": "1", "X-Auth-Act": "1", "X-Auth-Signature": "x"} {
		for _, sep := range []string{"-", "_", ".", "~"} {
			other := strings.ReplaceAll(name, "-", sep)
			headers = append(headers, [2]string{other, value}, [2]string{strings.ToLower(other), value}, [2]string{strings.ToUpper(other), value})
		}
	}
	headers = append(headers, [][2]string{
		{"X-Forwarded-User", "root"}, {"X-Remote-User", "root"}, {"Remote-User", "root"}, {"REMOTE_USER", "root"}, {"X-User", "root"}, {"X-Email", "root"}, {"From", "root"},
		{"X-Original-Url", "/healthz"}, {"X-Rewrite-Url", "/healthz"}, {"X-Original-Uri", "/healthz"}, {"X-Forwarded-Uri", "/healthz"}, {"X-Forwarded-Prefix", "/healthz"},
		{"X-Http-Method-Override", "DELETE"}, {"X-Method-Override", "DELETE"}, {"X-Http-Method", "DELETE"}, {"X-Forwarded-Method", "DELETE"}, {"X-Forwarded-Host", "evil.example"},
		{"X-Custom-Ip-Authorization", "127.0.0.1"}, {"Ssl-Client-Verify", "SUCCESS"}, {"X-Ssl-Client-Dn", "CN=root"}, {"X-Forwarded-Client-Cert", "Subject=\"CN=root\""},
		{"Connection", "X-Auth-Role"}, {"Connection", "Authorization"}, {"Cookie", "__Host-flakepass=" + root}, {"Cookie", "token=" + root}, {"X-Api-Key", root}, {"Token", root}, {"X-Access-Token", root},
		{"Proxy-Authorization", "Bearer " + root}, {"X-Authorization", "Bearer " + root}, {"Sec-WebSocket-Protocol", "Bearer, " + root},
	}...)
	w.directAndProxied(t, func(t *testing.T, at string) {
		for _, h := range headers {
			if a := w.send("GET", at, "/v1/me", "", h[0], h[1]); a.status != 401 || a.field("code") != "token_missing" {
				t.Errorf("%s: %s, without a token: got %d %s", h[0], h[1], a.status, a.body)
			}
			a := w.send("GET", at, "/v1/me", "", append(bearer(alice), h[0], h[1])...)
			if (a.status != 200 || a.field("username") != "alice" || a.field("role") != "user") && (a.status != 401 || h[0] != "Connection") {
				t.Errorf("%s: %s, with alice's token: got %d %s", h[0], h[1], a.status, a.body)
			}
			if a := w.send("GET", at, "/v1/admin/users", "", append(bearer(alice), h[0], h[1])...); a.status != 403 && (a.status != 401 || h[0] != "Connection") {
				t.Errorf("%s: %s, as an admin: got %d %s", h[0], h[1], a.status, a.body)
			}
			if strings.Contains(a.body+strings.Join(a.header["Location"], ""), "evil.example") {
				t.Errorf("%s: %s: the answer leads to another host", h[0], h[1])
			}
		}
	})
	w.alive(root)
}
