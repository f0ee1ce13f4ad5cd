//go:build unix

package proxies

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

const (
	patience = 2 * time.Minute
	keyText  = "0123456789abcdef0123456789abcdef"
	password = "correct horse battery"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// run starts a program until the test ends, and returns once it answers at addr.
func run(t testing.TB, addr, program string, args ...string) *server.Process {
	t.Helper()
	p := &server.Process{Path: program, Args: args, Dir: t.TempDir()}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	if err := p.Wait(ctx, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/healthz", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

// A service is what stands behind the proxy: guarded by what the proxy says, and
// by nothing else.
type service struct {
	addr string

	mu   sync.Mutex
	seen []http.Header // of each request that came, before the Guard
	said []error       // by the Guard, about what it did not believe
}

func newService(t testing.TB) *service {
	t.Helper()
	s := &service{}
	key, err := flakepass.NewForwardKey(keyText)
	if err != nil {
		t.Fatal(err)
	}
	guard := &flakepass.Guard{
		Forwarded: &flakepass.Forwarded{From: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Keys: []flakepass.ForwardKey{key}},
		Undecided: func(_ *http.Request, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.said = append(s.said, err)
		},
	}
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		who, _ := flakepass.FromContext(r.Context())
		_ = json.NewEncoder(w).Encode(reply{who.Username, who.Role, who.SessionID.String(), who.Act.String(), r.Method, r.RequestURI, string(body)})
	})
	mux := http.NewServeMux()
	mux.Handle("/open/", guard.Optional().Handler(answer))
	mux.Handle("/broken/", guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "the service's own")
	})))
	mux.Handle("/", guard.Handler(answer))
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Header.Clone())
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s.addr = front.Listener.Addr().String()
	return s
}

// arrived returns what has come since the last call.
func (s *service) arrived() (seen []http.Header, said []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, said = s.seen, s.said
	s.seen, s.said = nil, nil
	return seen, said
}

// A reply is what the service answers.
type reply struct{ Username, Role, Session, Act, Method, Target, Body string }

// A world is a flakepass, a service, and a proxy between it and the client.
type world struct {
	t         testing.TB
	flakepass *server.Process
	api       string // host:port of flakepass
	service   *service
	proxy     string // host:port
	token     string // of alice, a user
	data      string // the folder of flakepass
}

// newWorld starts a proxy with one of the files of docs/proxies, in which the
// addresses are replaced.
func newWorld(t testing.TB, start func(t testing.TB, w *world)) *world {
	t.Helper()
	program := testenv.Flakepass(t)
	w := &world{t: t, service: newService(t), data: t.TempDir()}
	w.api = fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	file := filepath.Join(t.TempDir(), "flakepass.yaml")
	settings := fmt.Sprintf("listen: %s\nops_listen: 127.0.0.1:0\ndata_dir: %s\nforward_key: %s\ntoken_header: X-Auth-Token\ntrusted_proxies: 127.0.0.1/32\nthrottle: off\nimpersonation: on\n", w.api, w.data, keyText)
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	w.flakepass = run(t, w.api, program, "--config", file, "serve")
	w.post("/v1/register", "", 201)
	var begun struct{ Token string }
	if err := json.Unmarshal(w.post("/v1/login", "", 200), &begun); err != nil {
		t.Fatal(err)
	}
	w.token = begun.Token
	w.proxy = fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	start(t, w)
	w.service.arrived()
	return w
}

// post sends alice's name and password to flakepass itself.
func (w *world) post(path, token string, status int) []byte {
	w.t.Helper()
	body := ""
	if token == "" {
		body = `{"username":"alice","password":"` + password + `"}`
	}
	return w.send(path, token, body, status)
}

// support is a token by which an admin acts for alice.
func (w *world) support() string {
	w.t.Helper()
	root := `{"username":"root","password":"` + password + `"}`
	w.send("/v1/register", "", root, 201)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.data, "flakepass.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(w.t.Context(), "UPDATE users SET role = 'admin' WHERE username = 'root'"); err != nil {
		w.t.Fatal(err)
	}
	var id string
	if err := db.QueryRowContext(w.t.Context(), "SELECT id FROM users WHERE username = 'alice'").Scan(&id); err != nil {
		w.t.Fatal(err)
	}
	var begun struct{ Token string }
	_ = json.Unmarshal(w.send("/v1/login", "", root, 200), &begun)
	_ = json.Unmarshal(w.send("/v1/admin/users/"+id+"/impersonate", begun.Token, `{"reason":"ticket 7"}`, 201), &begun)
	return begun.Token
}

func (w *world) send(path, token, body string, status int) []byte {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://"+w.api+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	a := w.do(r)
	if a.status != status {
		w.t.Fatalf("%s: got %d %s", path, a.status, a.body)
	}
	return a.body
}

// config is a file of docs/proxies with the addresses of this world.
func (w *world) config(name string, more ...string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../docs/proxies", name))
	if err != nil {
		w.t.Fatal(err)
	}
	pairs := append([]string{"127.0.0.1:8080", w.api, "127.0.0.1:3000", w.service.addr, "127.0.0.1:8000", w.proxy}, more...)
	for i := 0; i < len(pairs); i += 2 {
		if i != 4 && !bytes.Contains(text, []byte(pairs[i])) { // where Traefik listens is in another file
			w.t.Fatalf("%s has no %q", name, pairs[i])
		}
	}
	path := filepath.Join(w.t.TempDir(), filepath.Base(name))
	if err := os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// An answer is a response, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
	reply
	problem struct{ Code, Detail string }
}

func (w *world) do(r *http.Request) answer {
	w.t.Helper()
	client := &http.Client{
		Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		w.t.Fatal(err)
	}
	_ = json.Unmarshal(a.body, &a.reply) // what is no JSON has no fields
	_ = json.Unmarshal(a.body, &a.problem)
	return a
}

// ask sends a request through the proxy, with headers as name, value, ...
func (w *world) ask(method, path, body string, headers ...string) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.proxy+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header[headers[i]] = append(r.Header[headers[i]], headers[i+1]) // not canonical: it is sent as it is
	}
	return w.do(r)
}

func (w *world) bearer() []string { return []string{"Authorization", "Bearer " + w.token} }
