package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

// A client is an app. Every answer that it gets is held to the contract.
type client struct {
	t    testing.TB
	base string
	http *http.Client
	keep *canaries // may be nil
}

func newClient(t testing.TB, address string) *client {
	t.Helper()
	next := &http.Transport{}
	t.Cleanup(next.CloseIdleConnections)
	return &client{t: t, base: "http://" + address, http: &http.Client{
		Transport:     apitest.Transport(t, next),
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// An answer is a response, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
	fields map[string]any
}

func (a answer) field(name string) string { s, _ := a.fields[name].(string); return s }

// do sends a request; edits change it first. body is JSON text, or none.
func (c *client) do(method, path, body string, edits ...func(*http.Request)) answer {
	c.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, r)
	if err != nil {
		c.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.GetBody = nil // requests may be bad: the contract need not look at them
	}
	for _, edit := range edits {
		edit(req)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, req.URL.Path, err)
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		c.t.Fatalf("%s %s: %v", method, req.URL.Path, err)
	}
	_ = json.Unmarshal(a.body, &a.fields) // what is no JSON has no fields
	if strings.HasPrefix(path, "/v1/") && a.header.Get("Cache-Control") != "no-store" {
		c.t.Errorf("%s %s may be cached", method, path)
	}
	return a
}

// want fails the test unless the answer has that status and that code; "" is
// the code of a success.
func (c *client) want(a answer, status int, code string) answer {
	c.t.Helper()
	if a.status != status || a.field("code") != code {
		c.t.Fatalf("got %d %q, want %d %q", a.status, a.field("code"), status, code)
	}
	return a
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = values }
}

// object is a JSON object of strings, as name, value, ...
func object(pairs ...string) string {
	var b bytes.Buffer
	for i := 0; i < len(pairs); i += 2 {
		name, _ := json.Marshal(pairs[i])
		value, _ := json.Marshal(pairs[i+1])
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	return b.String() + "}"
}

func (c *client) register(name, password string) answer {
	c.t.Helper()
	c.keep.password(password)
	return c.do("POST", "/v1/register", object("username", name, "password", password))
}

func (c *client) tryLogin(name, password string) answer {
	c.t.Helper()
	c.keep.password(password)
	return c.do("POST", "/v1/login", object("username", name, "password", password))
}

// login returns the token of a login that has to work.
func (c *client) login(name, password string) string {
	c.t.Helper()
	a := c.want(c.tryLogin(name, password), 200, "")
	c.keep.token(a.field("token"))
	return a.field("token")
}

func (c *client) me(token string) answer {
	c.t.Helper()
	return c.do("GET", "/v1/me", "", bearer(token))
}

// alive fails the test unless the token is good.
func (c *client) alive(token string) answer { c.t.Helper(); return c.want(c.me(token), 200, "") }

// dead fails the test unless the token is refused for that reason.
func (c *client) dead(token, code string) { c.t.Helper(); c.want(c.me(token), 401, code) }

func (c *client) logout(token string) answer {
	c.t.Helper()
	return c.do("POST", "/v1/logout", "", bearer(token))
}

// forge is a well-formed token with the ID of that one and another secret.
func forge(token string) string {
	t, err := flakepass.ParseToken(token)
	if err != nil {
		panic(err)
	}
	return flakepass.NewToken(t.ID()).Reveal()
}
