//go:build unix

package proxies

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// proxies are those that run here. What they do not promise, the pages in
// docs/proxies say.
var proxies = []struct {
	name  string
	start func(t testing.TB, w *world)
}{
	{"nginx", startNginx},
	{"caddy", startCaddy},
}

func startNginx(t testing.TB, w *world) {
	testenv.Program(t, "nginx")
	dir := t.TempDir()
	files := filepath.Join(dir, "srv", "files")
	if err := os.MkdirAll(files, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "secret.txt"), []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	// It runs as the user who runs the tests.
	conf := w.config("nginx.conf", "/tmp/nginx", filepath.Join(dir, "nginx"), "root /srv", "root "+filepath.Join(dir, "srv"),
		"worker_processes auto", "worker_processes 1", "access_log /dev/stdout plain", "access_log off",
		"error_log /dev/stderr warn", "error_log stderr warn")
	runNginx(t, w, dir, conf)
}

func runNginx(t testing.TB, w *world, dir, conf string) {
	t.Helper()
	args := []string{"-p", dir, "-c", conf, "-e", "stderr", "-g", "daemon off;"}
	if os.Geteuid() == 0 {
		args[len(args)-1] += " user root;"
	}
	run(t, w.proxy, testenv.Program(t, "nginx"), args...)
}

func startCaddy(t testing.TB, w *world) {
	run(t, w.proxy, testenv.Program(t, "caddy"), "run", "--adapter", "caddyfile", "--config", w.config("Caddyfile"))
}

// each runs a test with every proxy.
func each(t *testing.T, test func(t *testing.T, w *world, proxy string)) {
	t.Helper()
	for _, p := range proxies {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, p.start), p.name)
		})
	}
}

// TestProxyLetsTheRightOnesThrough: with their identity, their method, their body
// and no token.
func TestProxyLetsTheRightOnesThrough(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world, _ string) {
		for _, c := range []struct{ method, path, body, scheme string }{
			{"GET", "/orders", "", "Bearer "},
			{"GET", "/orders/7?full=1&a=%2F", "", "bearer "},
			{"POST", "/orders", strings.Repeat("x", 100_000), "BEARER  "},
			{"DELETE", "/orders/%E2%82%AC;a=b", "", "Bearer "},
			{"PUT", "/v1/verify", "body", "Bearer "},
		} {
			got := w.ask(c.method, c.path, c.body, "Authorization", c.scheme+w.token)
			if got.status != 200 || got.Username != "alice" || got.Role != "user" || got.Method != c.method || got.Target != c.path || got.Body != c.body {
				t.Errorf("%s %s: got %d %+v %.200s", c.method, c.path, got.status, got.reply, got.body)
			}
			seen, said := w.service.arrived()
			if len(seen) != 1 || len(said) != 0 || seen[0].Get("Authorization") != "" {
				t.Errorf("%s %s: the service saw %v and said %v", c.method, c.path, seen, said)
			}
			for _, name := range []string{"X-Auth-Expires-In", "X-Auth-Idle-Expires-In"} {
				if values := got.header.Values(name); len(values) != 1 {
					t.Errorf("%s %s: %s is %q", c.method, c.path, name, values)
				}
			}
		}
		if got := w.ask("GET", "/open/news", ""); got.status != 200 || got.Username != "" {
			t.Errorf("what is open to all: got %d %s", got.status, got.body)
		}
		if got := w.ask("GET", "/broken/x", "", w.bearer()...); got.status != 500 || string(got.body) != "the service's own" {
			t.Errorf("the service's own 500: got %d %s", got.status, got.body)
		}
	})
}

// TestProxyPassesTheRefusalOn: with its code, its challenge, and nobody's leave
// to keep it.
func TestProxyPassesTheRefusalOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world, _ string) {
		dead := w.token
		w.post("/v1/logout", dead, 204)
		for name, c := range map[string]struct {
			headers   []string
			path      string
			status    int
			code      string
			challenge string
		}{
			"nothing":        {nil, "/orders", 401, "token_missing", `Bearer realm="flakepass"`},
			"in the query":   {nil, "/orders?access_token=" + dead + "&token=" + dead, 401, "token_missing", `Bearer realm="flakepass"`},
			"in a cookie":    {[]string{"Cookie", "token=" + dead}, "/orders", 401, "token_missing", `Bearer realm="flakepass"`},
			"other scheme":   {[]string{"Authorization", "Basic eDp5"}, "/orders", 401, "token_missing", `Bearer realm="flakepass"`},
			"empty bearer":   {[]string{"Authorization", "Bearer "}, "/orders", 401, "token_malformed", "not a token"},
			"two at once":    {[]string{"Authorization", "Bearer " + dead + ", Bearer " + dead}, "/orders", 401, "token_malformed", "not a token"},
			"in two headers": {[]string{"Authorization", "Bearer " + dead, "X-Auth-Token", "another"}, "/orders", 400, "credentials_ambiguous", ""},
			"dead":           {[]string{"Authorization", "Bearer " + dead}, "/orders", 401, "token_logged_out", "logged out"},
		} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				got := w.ask(method, c.path, map[string]string{"POST": "body"}[method], c.headers...)
				challenge := got.header.Values("Www-Authenticate")
				if c.status == 400 && challenge == nil {
					challenge = []string{""} // what a 400 demands is no login
				}
				if got.status != c.status || got.problem.Code != c.code || len(challenge) != 1 || !strings.Contains(challenge[0], c.challenge) ||
					got.header.Get("Content-Type") != "application/problem+json" || got.header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s, %s: got %d %q %v %s", name, method, got.status, got.problem.Code, got.header, got.body)
				}
				if name == "in the query" && !strings.Contains(got.problem.Detail, "URL") {
					t.Errorf("the sentence about a token in the URL is %q", got.problem.Detail)
				}
			}
		}
		if seen, _ := w.service.arrived(); len(seen) > 0 {
			t.Errorf("refused, and yet the service saw %v", seen)
		}
	})
}

// TestProxyKeepsUnavailable: with flakepass gone, no request gets in, and none is answered that
// a token is dead.
func TestProxyKeepsUnavailable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world, _ string) {
		if err := w.flakepass.Kill(); err != nil {
			t.Fatal(err)
		}
		for _, headers := range [][]string{w.bearer(), nil, {"X-Auth-Role", "admin", "X-Auth-User-Id", "1"}} {
			got := w.ask("GET", "/orders", "", headers...)
			if got.status != 503 || got.problem.Code != "unavailable" || got.header.Get("Retry-After") != "1" ||
				got.header.Get("Content-Type") != "application/problem+json" || got.header.Get("Cache-Control") != "no-store" ||
				len(got.header.Values("Www-Authenticate")) > 0 {
				t.Errorf("got %d %v %s", got.status, got.header, got.body)
			}
		}
		if seen, _ := w.service.arrived(); len(seen) > 0 {
			t.Errorf("undecided, and yet the service saw %v", seen)
		}
	})
}
