//go:build unix

package attack

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// directAndProxied runs a test directly at the server, and through nginx.
func (w *world) directAndProxied(t *testing.T, test func(t *testing.T, at string)) {
	t.Helper()
	t.Run("direct", func(t *testing.T) { test(t, w.api) })
	t.Run("nginx", func(t *testing.T) { test(t, w.front()) })
}

// An answer is a response, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// field is a member of the JSON in the answer, as text.
func (a answer) field(name string) string {
	var members map[string]any
	_ = json.Unmarshal([]byte(a.body), &members) // what is no JSON has none
	if v, ok := members[name]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

// send sends a request, with headers as name, value, ... A body without a type is
// JSON.
func (w *world) send(method, at, path, body string, headers ...string) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+at+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if name := headers[i]; name == "Content-Type" {
			r.Header.Set(name, headers[i+1])
		} else {
			r.Header[name] = append(r.Header[name], headers[i+1]) // not canonical: it is sent as it is
		}
	}
	return w.do(r)
}

func (w *world) do(r *http.Request) answer {
	w.t.Helper()
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

func object(pairs ...string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	b, _ := json.Marshal(m) // strings always marshal
	return string(b)
}

// register makes a user and logs in.
func (w *world) register(name string) (token string) {
	w.t.Helper()
	if a := w.send("POST", w.api, "/v1/register", object("username", name, "password", password)); a.status != 201 {
		w.t.Fatalf("register %s: got %d %s", name, a.status, a.body)
	}
	return w.login(name)
}

func (w *world) login(name string) (token string) {
	w.t.Helper()
	a := w.send("POST", w.api, "/v1/login", object("username", name, "password", password))
	if a.status != 200 {
		w.t.Fatalf("login %s: got %d %s", name, a.status, a.body)
	}
	return a.field("token")
}

// idsOf are the numbers of the user and of the login whose token that is.
func (w *world) idsOf(token string) (user, session string) {
	w.t.Helper()
	a := w.send("GET", w.api, "/v1/verify", "", bearer(token)...)
	if user, session = a.header.Get("X-Auth-User-Id"), a.header.Get("X-Auth-Session-Id"); user == "" || session == "" {
		w.t.Fatalf("no user in %d %v", a.status, a.header)
	}
	return user, session
}

// admin makes the first admin by the link, and logs in.
func (w *world) admin(name string) (token string) {
	w.t.Helper()
	address, code, ok := strings.Cut(w.link, "?code=")
	if !ok {
		w.t.Fatalf("there is no link for the first admin\n%s", w.process.LogTail())
	}
	form := url.Values{"code": {code}, "username": {name}, "password": {password}}.Encode()
	path := strings.TrimPrefix(address, "http://"+w.api)
	if a := w.send("POST", w.api, path, form, "Content-Type", "application/x-www-form-urlencoded"); a.status != 303 && a.status != 200 {
		w.t.Fatalf("the form answers %d\n%s", a.status, a.body)
	}
	return w.login(name)
}

// alive fails unless the server serves, and the token is good.
func (w *world) alive(token string) {
	w.t.Helper()
	if a := w.send("GET", w.api, "/v1/me", "", bearer(token)...); a.status != 200 {
		w.t.Errorf("after that, the token gets %d %s", a.status, a.body)
	}
	if text := w.process.Log(); strings.Contains(text, `"msg":"panic"`) || strings.Contains(text, "msg=panic") || strings.Contains(text, "goroutine ") {
		w.t.Errorf("the server has panicked:\n%s", w.process.LogTail())
	}
}

// dial opens a connection from an address of this machine; empty: any.
func (w *world) dial(from, to string) net.Conn {
	w.t.Helper()
	d := &net.Dialer{Timeout: patience}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	conn, err := d.DialContext(w.t.Context(), "tcp", to)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(2 * patience))
	return conn
}

// talk writes text and returns the status of each answer until the other side
// hangs up.
func (w *world) talk(from, to, text string) (statuses []int, last answer) {
	w.t.Helper()
	conn := w.dial(from, to)
	go func() { _, _ = io.WriteString(conn, text) }() // the server may hang up before it has read all
	for in := bufio.NewReader(conn); ; {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			break
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		statuses = append(statuses, resp.StatusCode)
		last = answer{resp.StatusCode, resp.Header, string(body)}
	}
	_ = conn.Close()
	return statuses, last
}
