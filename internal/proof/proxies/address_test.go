//go:build unix

package proxies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// clientAddress is where the clients of these tests are. The proxy is at
// 127.0.0.1, which flakepass trusts.
const clientAddress = "127.0.0.2"

// claims are headers with which a client says that it is somewhere else. The
// addresses in them are of no machine (RFC 5737).
var claims = [][]string{
	{"X-Forwarded-For", "198.51.100.7"},
	{"x-forwarded-for", "198.51.100.7, 198.51.100.8"},
	{"X-FORWARDED-FOR", "127.0.0.1"},
	{"X-Forwarded-For", "198.51.100.7", "X-Forwarded-For", ""},
	{"X_Forwarded_For", "198.51.100.7"},
	{"Forwarded", "for=198.51.100.7"},
	{"forwarded", `for="[2001:db8::7]:80";by=127.0.0.1`},
	{"X-Real-Ip", "198.51.100.7"},
	{"X-REAL-IP", "198.51.100.7"},
	{"X_Real_Ip", "198.51.100.7"},
	{"X-Forwarded-For", "198.51.100.7", "Forwarded", "for=198.51.100.7", "X-Real-Ip", "198.51.100.7"},
	{"Connection", "X-Forwarded-For, Forwarded", "X-Forwarded-For", "198.51.100.7"},
}

// A place is a location of a proxy's configuration, and the path of a request that
// gets there. Those without one are reached on behalf of another location.
type place struct {
	path   string
	asks   bool   // flakepass about the token
	serves bool   // the service, if the token is good or none is needed
	by     string // the location on whose behalf it is asked
}

// places are all locations, by file, as the file calls them. A location that
// a change adds has no row here, and fails the test.
var places = map[string]map[string]place{
	"proxies/nginx.conf": {
		"location /":          {path: "/orders", asks: true, serves: true},
		"location /files/":    {path: "/files/secret.txt", asks: true},
		"location /open/":     {path: "/open/news", serves: true},
		"location = /_verify": {by: "location /"},
		"location @refused":   {by: "location /"},
		"location @undecided": {by: "location /"}, // asks no server

		"location = /_ambiguous_path": {by: "location /"}, // asks no server
	},
	"deploy/nginx.conf": {
		"location /":            {path: "/v1/me", asks: true},
		"location @unreachable": {by: "location /"}, // asks no server
	},
	"proxies/Caddyfile": {
		"handle":                       {path: "/orders", asks: true, serves: true},
		"handle > forward_auth":        {by: "handle"},
		"handle > reverse_proxy":       {by: "handle"},
		"handle @open":                 {path: "/open/news", serves: true},
		"handle @open > reverse_proxy": {by: "handle @open"},
		"handle_errors 502 504":        {by: "handle"}, // asks no server
	},
	"proxies/traefik-dynamic.yml": {
		"guarded": {path: "/orders", asks: true, serves: true},
		"open":    {path: "/open/news", serves: true},
	},
	"proxies/envoy.yaml": {
		"/":      {path: "/orders", asks: true, serves: true},
		"/open/": {path: "/open/news", serves: true},
	},
}

var (
	comment = regexp.MustCompile(`(?m)(^|[ \t])#.*$`)
	spaces  = regexp.MustCompile(`\s+`)
	// routed are the blocks and directives that a request can end in.
	routed = regexp.MustCompile(`^(location\b.*|handle\S*.*|forward_auth\b|reverse_proxy\b|proxy_pass\b|php_fastcgi\b|file_server\b)`)
)

// blocks are the locations of a file with braces, each by its first line; of
// Caddy also the directives that send a request on, by where they stand.
func blocks(text string) (found []string) {
	var open []string
	for line := range strings.Lines(comment.ReplaceAllString(text, "")) {
		line = strings.TrimSpace(spaces.ReplaceAllString(line, " "))
		head, isBlock := strings.CutSuffix(line, "{")
		head = strings.TrimSpace(head)
		if name := routed.FindString(head); name != "" && !strings.HasPrefix(name, "proxy_pass") {
			within := ""
			for _, o := range open {
				if strings.HasPrefix(o, "handle") || strings.HasPrefix(o, "location") {
					within += o + " > "
				}
			}
			found = append(found, within+strings.TrimSpace(name))
		}
		switch {
		case isBlock:
			open = append(open, head)
		case line == "}":
			open = open[:len(open)-1]
		}
	}
	return found
}

// TestEveryLocationHasARow: the lists above are those of the files.
func TestEveryLocationHasARow(t *testing.T) {
	t.Parallel()
	for file, rows := range places {
		path := filepath.Join("../../../docs", file)
		var found []string
		switch filepath.Ext(file) {
		case ".yml":
			routers, _ := one(t, read(t, path), "routers").(map[string]any)
			for name := range routers {
				found = append(found, name)
			}
		case ".yaml":
			list, _ := one(t, read(t, path), "routes").([]any)
			for _, route := range list {
				prefix, _ := one(t, one(t, route, "match"), "prefix").(string)
				found = append(found, prefix)
			}
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found = blocks(string(text))
		}
		var want []string
		for name := range rows {
			want = append(want, name)
		}
		slices.Sort(found)
		slices.Sort(want)
		if !slices.Equal(found, want) {
			t.Errorf("%s has the locations\n%q\nand the rows here are\n%q", file, found, want)
		}
	}
	var files []string
	for _, folder := range []string{"proxies", "deploy"} {
		entries, err := os.ReadDir(filepath.Join("../../../docs", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); ext != ".md" && ext != ".sh" && !slices.Contains(withoutRoutes, e.Name()) {
				files = append(files, folder+"/"+e.Name())
			}
		}
	}
	for _, file := range files {
		if places[file] == nil {
			t.Errorf("docs/%s has no rows", file)
		}
	}
}

// withoutRoutes are files that see no request.
var withoutRoutes = []string{"traefik.yml", "haproxy-database.cfg"}

// elsewhere sends a request through the proxy from clientAddress.
func (w *world) elsewhere(method, path, body string, headers ...string) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.proxy+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header[headers[i]] = append(r.Header[headers[i]], headers[i+1])
	}
	dialer := &net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress)}}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext}}
	resp, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	return answer{status: resp.StatusCode, header: resp.Header}
}

// deadToken is one of a login of its own, which another has replaced.
func (w *world) deadToken() flakepass.Token {
	w.t.Helper()
	var begun struct{ Token string }
	for range 2 {
		was := begun.Token
		if err := json.Unmarshal(w.post("/v1/login", "", 200), &begun); err != nil {
			w.t.Fatal(err)
		}
		if was != "" {
			w.token = begun.Token
			t, err := flakepass.ParseToken(was)
			if err != nil {
				w.t.Fatal(err)
			}
			return t
		}
	}
	panic("not reached")
}

// ofEnded is in the line about the token of a login that was ended.
const ofEnded = "event=token.reused"

var from = regexp.MustCompile(` from=(\S*)`)

// logged are the addresses in the lines of flakepass's log with these texts.
func (w *world) logged(texts ...string) (addresses []string) {
	w.t.Helper()
	log, err := os.ReadFile(filepath.Join(w.flakepass.Dir, "log"))
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range bytes.Lines(log) {
		has := true
		for _, text := range texts {
			has = has && bytes.Contains(line, []byte(text))
		}
		if found := from.FindSubmatch(line); found != nil && has {
			addresses = append(addresses, string(found[1]))
		}
	}
	return addresses
}

// wantAddress fails the test unless the log has lines with these texts, all of
// them with the address of the client.
func (w *world) wantAddress(what string, texts ...string) {
	w.t.Helper()
	seen := w.logged(texts...)
	if len(seen) == 0 {
		w.t.Errorf("%s: the log has no line with %q", what, texts)
	}
	for _, address := range seen {
		if address != clientAddress {
			w.t.Errorf("%s: logged as %s, and is %s", what, address, clientAddress)
		}
	}
}

// canDial ends the test where the machine has one loopback address only.
func canDial(t *testing.T) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", clientAddress+":0")
	if err != nil {
		testenv.Absent(t, "second loopback address: "+err.Error())
	}
	_ = l.Close()
}

// TestAClientChoosesNoAddressOnRecord: on every location of every proxy, whatever
// a client claims, flakepass logs where it is, and the service receives it.
func TestAClientChoosesNoAddressOnRecord(t *testing.T) {
	t.Parallel()
	canDial(t)
	for file, start := range map[string]func(testing.TB, *world){
		"proxies/nginx.conf": startNginx, "proxies/Caddyfile": startCaddy, "deploy/nginx.conf": startDeployed,
		"proxies/traefik-dynamic.yml": asTraefik, "proxies/envoy.yaml": asEnvoy,
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			for name, p := range places[file] {
				if p.path == "" {
					continue
				}
				for _, claim := range claims {
					what := fmt.Sprintf("%s, %q", name, claim)
					if p.asks {
						dead := w.deadToken()
						if got := w.elsewhere("GET", p.path, "", append([]string{"Authorization", "Bearer " + dead.Reveal()}, claim...)...); got.status != 401 {
							t.Errorf("%s: got %d, want 401", what, got.status)
						}
						w.wantAddress(what, "session_id="+dead.ID().String(), ofEnded)
					}
					w.service.arrived()
					if !p.serves {
						continue
					}
					if got := w.elsewhere("GET", p.path, "", append(w.bearer(), claim...)...); got.status != 200 {
						t.Errorf("%s: got %d, want 200", what, got.status)
					}
					seen, _ := w.service.arrived()
					if len(seen) != 1 {
						t.Errorf("%s: the service saw %d requests", what, len(seen))
					}
					for _, h := range seen {
						got, err := clientaddr.Of(&http.Request{RemoteAddr: "127.0.0.1:80", Header: h}, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")})
						if clientaddr.Text(got) != clientAddress || err != nil {
							t.Errorf("%s: the service receives that the client is %s, %v: %v", what, got, err, h)
						}
						if text := fmt.Sprint(h); strings.Contains(text, "198.51.100") || strings.Contains(text, "2001:db8") {
							t.Errorf("%s: the service receives the claim: %v", what, h)
						}
					}
				}
			}
		})
	}
}

// startDeployed is the proxy in front of flakepass itself.
func startDeployed(t testing.TB, w *world) { deploy(t, w, w.api, w.api) }

// deploy starts it with these addresses of the two instances.
func deploy(t testing.TB, w *world, first, second string, more ...string) {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile("../../../docs/deploy/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	pairs := append([]string{
		"flakepass-1:8080", first, "flakepass-2:8080", second, "listen 8080 default_server", "listen " + w.proxy,
		"/tmp/", filepath.Join(dir, "t") + "-", "worker_processes auto", "worker_processes 1",
		"access_log /dev/stdout plain", "access_log off", "error_log /dev/stderr warn", "error_log stderr warn",
	}, more...)
	for i := 0; i < len(pairs); i += 2 {
		if !bytes.Contains(text, []byte(pairs[i])) {
			t.Fatalf("docs/deploy/nginx.conf has no %q", pairs[i])
		}
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	runNginx(t, w, dir, conf)
}

// TestAClientChoosesNoAddressOfARefusal: through the proxy in front of flakepass,
// each route that logs or records a refusal does so with the client's own address.
func TestAClientChoosesNoAddressOfARefusal(t *testing.T) {
	t.Parallel()
	canDial(t)
	w := newWorld(t, startDeployed)
	testenv.Program(t, "nginx")
	sent := 0
	for _, claim := range claims {
		form := append([]string{"Content-Type", "application/x-www-form-urlencoded", "Origin", "http://" + w.proxy}, claim...)
		doc := append([]string{"Content-Type", "application/json"}, claim...)
		dead := w.deadToken()
		bearer := []string{"Authorization", "Bearer " + dead.Reveal()}
		for _, c := range []struct {
			method, path, body string
			headers            []string
			status             int
		}{
			{"POST", "/v1/login", `{"username":"alice","password":"wrong"}`, doc, 401},
			{"POST", "/v1/password-resets", `{"reset_token":"x","new_password":"y"}`, doc, 403},
			{"GET", "/v1/me", "", append(bearer, claim...), 401},
			{"GET", "/v1/verify", "", append(bearer, claim...), 401},
			{"POST", "/v1/introspect", "token=x", append(bearer, form...), 401},
			{"GET", "/v1/admin/users", "", append(w.bearer(), claim...), 403},
			{"POST", "/console/login", "username=alice&password=wrong", form, 401},
			{"POST", "/console/password", "reset_token=x&password=y&password_again=y", form, 403},
		} {
			id := fmt.Sprintf("request-%04d", sent)
			sent++
			if got := w.elsewhere(c.method, c.path, c.body, append([]string{"X-Request-Id", id}, c.headers...)...); got.status != c.status {
				t.Errorf("%s %s, %q: got %d, want %d", c.method, c.path, claim, got.status, c.status)
			}
		}
		w.wantAddress(fmt.Sprintf("a dead token, %q", claim), "session_id="+dead.ID().String(), ofEnded)
	}
	for _, text := range []string{"login refused", "password not reset", "forbidden", ofEnded, "event=login.failed", "via=console"} {
		w.wantAddress(text, text)
	}
}
