package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/proof/apitest"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A Client is an app. Every answer that it gets is held to the contract.
type Client struct {
	T    testing.TB
	base string
	http *http.Client
	Keep *Canaries // may be nil
}

// NewClient makes a client of the instance at that address.
func NewClient(t testing.TB, address string) *Client {
	t.Helper()
	next := &http.Transport{}
	t.Cleanup(next.CloseIdleConnections)
	return &Client{T: t, base: "http://" + address, http: &http.Client{
		Transport:     apitest.Transport(t, next),
		Timeout:       Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// An Answer is a response, read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Fields map[string]any
}

// Field is the string of that name in the JSON object, or "".
func (a Answer) Field(name string) string { s, _ := a.Fields[name].(string); return s }

// Do sends a request; edits change it first. body is JSON text, or none.
func (c *Client) Do(method, path, body string, edits ...func(*http.Request)) Answer {
	c.T.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(c.T.Context(), method, c.base+path, r)
	if err != nil {
		c.T.Fatal(err)
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
		c.T.Fatalf("%s %s: %v", method, req.URL.Path, err)
	}
	defer resp.Body.Close()
	a := Answer{Status: resp.StatusCode, Header: resp.Header}
	if a.Body, err = io.ReadAll(resp.Body); err != nil {
		c.T.Fatalf("%s %s: %v", method, req.URL.Path, err)
	}
	_ = json.Unmarshal(a.Body, &a.Fields) // what is no JSON has no fields
	if strings.HasPrefix(path, "/v1/") && a.Header.Get("Cache-Control") != "no-store" {
		c.T.Errorf("%s %s may be cached", method, path)
	}
	return a
}

// Want fails the test unless the answer has that status and that code; "" is
// the code of a success.
func (c *Client) Want(a Answer, status int, code string) Answer {
	c.T.Helper()
	if a.Status != status || a.Field("code") != code {
		c.T.Fatalf("got %d %q, want %d %q", a.Status, a.Field("code"), status, code)
	}
	return a
}

// Bearer sets the header that carries a token.
func Bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

// Header sets a header, with each of the values.
func Header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = values }
}

// Object is a JSON object of strings, as name, value, ...
func Object(pairs ...string) string {
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

// Register makes a user over HTTP.
func (c *Client) Register(name, password string) Answer {
	c.T.Helper()
	c.Keep.Password(password)
	return c.Do("POST", "/v1/register", Object("username", name, "password", password))
}

// TryLogin logs in and returns the answer, whatever it is.
func (c *Client) TryLogin(name, password string) Answer {
	c.T.Helper()
	c.Keep.Password(password)
	return c.Do("POST", "/v1/login", Object("username", name, "password", password))
}

// Login returns the token of a login that has to work.
func (c *Client) Login(name, password string) string {
	c.T.Helper()
	a := c.Want(c.TryLogin(name, password), 200, "")
	c.Keep.Token(a.Field("token"))
	return a.Field("token")
}

// Me asks who has that token.
func (c *Client) Me(token string) Answer {
	c.T.Helper()
	return c.Do("GET", "/v1/me", "", Bearer(token))
}

// Alive fails the test unless the token is good.
func (c *Client) Alive(token string) Answer { c.T.Helper(); return c.Want(c.Me(token), 200, "") }

// Dead fails the test unless the token is refused for that reason.
func (c *Client) Dead(token, code string) { c.T.Helper(); c.Want(c.Me(token), 401, code) }

// Logout ends the login of that token.
func (c *Client) Logout(token string) Answer {
	c.T.Helper()
	return c.Do("POST", "/v1/logout", "", Bearer(token))
}

// Forge is a well-formed token with the ID of that one and another secret.
func Forge(token string) string {
	t, err := flakepass.ParseToken(token)
	if err != nil {
		panic(err)
	}
	return flakepass.NewToken(t.ID()).Reveal()
}

// PostForm sends what a page of the console would.
func PostForm(t testing.TB, address string, form url.Values) (status int, page string) {
	t.Helper()
	resp, err := (&http.Client{Timeout: Patience}).PostForm(address, form) //nolint:noctx // the client has a timeout
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// form makes of a request one that an OAuth library sends.
func form(headers ...string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
}

// Post sends a JSON body with headers, as name, value, ...
func (c *Client) Post(path, body string, headers ...string) Answer {
	c.T.Helper()
	return c.Do("POST", path, body, form(headers...))
}

// Soon fails the test unless the token is refused for that reason within the
// bound: no request that began later than that after the end is let through.
func Soon(t testing.TB, c *Client, token, code string, ended time.Time) {
	t.Helper()
	testenv.Eventually(t, Patience, func() bool {
		asked := time.Now()
		a := c.Me(token)
		if a.Status != 200 {
			c.Want(a, 401, code)
			return true
		}
		if late := asked.Sub(ended); late > Bound {
			t.Fatalf("accepted %v after the end, want at most %v", late, Bound)
		}
		return false
	}, "the token is not refused")
}
