package lifecycletest

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

func badTokensRefused(t *testing.T, i *e2e.Instance, keep *e2e.Canaries, token string) {
	c := e2e.NewClient(t, i.Public)
	refused := func(what, text, code string) {
		t.Helper()
		a := c.Do("GET", "/v1/me", "", e2e.Header("Authorization", "Bearer "+text))
		if a.Status != 401 || a.Field("code") != code {
			t.Errorf("%s: got %d %q, want 401 %q", what, a.Status, a.Field("code"), code)
		}
		if code == "token_malformed" {
			return
		}
		if a := c.Do("POST", "/v1/logout", "", e2e.Bearer(text)); a.Status != 204 {
			t.Errorf("%s: logout answered %d, want 204", what, a.Status)
		}
	}
	for n := range token {
		refused("cut short", token[:n], "token_malformed")
	}
	for n := range 8 * len(token) {
		b := []byte(token)
		b[n/8] ^= 1 << (n % 8)
		if b[n/8] < ' ' || b[n/8] == 0x7f {
			continue // no header can hold it
		}
		refused("one bit flipped", string(b), "token_malformed")
	}
	for _, text := range []string{token + "x", "x" + token, token + token, token + "," + token, strings.ToUpper(token),
		strings.Repeat("f", 4000), "fp_" + strings.Repeat("z", 43), "null", "undefined", `"` + token + `"`} {
		refused("no token", text, "token_malformed")
		c.Want(c.Do("POST", "/v1/logout", "", e2e.Bearer(text)), 401, "token_malformed")
	}
	foreign := flakepass.NewToken(flakepass.ID(idworker.Default().Smallest(time.Now()) + 5)).Reveal()
	keep.Token(foreign)
	refused("a token of another deployment", foreign, "token_invalid")
	refused("a token of the future", flakepass.NewToken(flakepass.ID(idworker.Default().Smallest(time.Now().AddDate(1, 0, 0)))).Reveal(), "token_invalid")
	refused("a token of the past", flakepass.NewToken(1).Reveal(), "token_expired")
	refused("the largest token", flakepass.NewToken(1<<63-1).Reveal(), "token_invalid")
	refused("a guessed secret", e2e.Forge(token), "token_invalid")

	ambiguous := func(what string, edits ...func(*http.Request)) {
		t.Helper()
		for _, to := range [][2]string{{"GET", "/v1/me"}, {"GET", "/v1/verify"}, {"POST", "/v1/logout"}} {
			if a := c.Do(to[0], to[1], "", edits...); a.Status != 400 || a.Field("code") != "credentials_ambiguous" {
				t.Errorf("%s, %s: got %d %q, want 400 credentials_ambiguous", what, to[1], a.Status, a.Field("code"))
			}
		}
	}
	ambiguous("Authorization twice", e2e.Header("Authorization", "Bearer "+token, "Bearer "+token))
	ambiguous("two tokens", e2e.Header("Authorization", "Bearer "+token, "Bearer "+foreign))
	ambiguous("the other header twice", e2e.Header("X-Auth-Token", token, token))
	ambiguous("two headers, two tokens", e2e.Bearer(token), e2e.Header("X-Auth-Token", foreign))
	ambiguous("Basic and a token", e2e.Header("Authorization", "Basic Zm9vOmJhcg=="), e2e.Header("X-Auth-Token", token))

	// A token belongs in a header and is not looked for elsewhere.
	for _, where := range []string{"/v1/me?token=", "/v1/me?access_token=", "/v1/verify?authorization=Bearer%20", "/v1/me?X-Auth-Token="} {
		c.Want(c.Do("GET", where+token, ""), 401, "token_missing")
	}
	c.Want(c.Do("GET", "/v1/me", "", e2e.Header("Cookie", "token="+token+"; Authorization=Bearer "+token)), 401, "token_missing")
	c.Want(c.Do("GET", "/v1/me", "", e2e.Header("Proxy-Authorization", "Bearer "+token)), 401, "token_missing")
}

func badRoutesRefused(t *testing.T, i *e2e.Instance, token string) {
	c := e2e.NewClient(t, i.Public)
	for _, method := range []string{"TRACE", "OPTIONS", "HEAD", "DELETE", "PATCH", "PROPFIND", "get", "X"} {
		for _, path := range []string{"/v1/me", "/v1/login", "/v1/logout", "/healthz"} {
			if method == "HEAD" && path == "/healthz" || method == "DELETE" && path == "/v1/me" {
				continue // which has it
			}
			a := c.Do(method, path, "", e2e.Bearer(token))
			if a.Status != 405 || a.Header.Get("Allow") == "" {
				t.Errorf("%s %s: got %d, want 405 with Allow", method, path, a.Status)
			}
		}
	}
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/me/", "//v1/me", "/v1//me", "/V1/me", "/v1/Me", "/v1/me/x.css", "/v1/me;x=1",
		"/v1/me%2f", "/v1/me%00", "/v2/me", "/debug/pprof/", "/metrics", "/favicon.ico", "/.git/config", "/v1/../v1/me", "/console"} {
		for _, method := range []string{"GET", "POST", "TRACE"} {
			if a := c.Do(method, path, "", e2e.Bearer(token)); a.Status != 404 || a.Header.Get("Location") != "" {
				t.Errorf("%s %s: got %d to %q, want 404", method, path, a.Status, a.Header.Get("Location"))
			}
		}
	}
}

// badMessagesRefused writes what no client of HTTP would.
func badMessagesRefused(t *testing.T, i *e2e.Instance, token string) {
	const host = "Host: x\r\nConnection: close\r\n"
	const login = "POST /v1/login HTTP/1.1\r\n" + host + "Content-Type: application/json\r\n"
	for _, m := range []struct {
		name, text string
		status     int
	}{
		{"a folded header", "GET /v1/me HTTP/1.1\r\n" + host + "Authorization: Bearer " + token[:20] + "\r\n " + token[20:] + "\r\n\r\n", 401},
		{"a header twice, in two cases", "GET /v1/me HTTP/1.1\r\n" + host + "authorization: Bearer " + token + "\r\nAUTHORIZATION: Bearer " + token + "\r\n\r\n", 400},
		{"a space before the colon", "GET /v1/me HTTP/1.1\r\n" + host + "Authorization : Bearer " + token + "\r\n\r\n", 400},
		{"a NUL in a header", "GET /v1/me HTTP/1.1\r\n" + host + "Authorization: Bearer \x00" + token + "\r\n\r\n", 400},
		{"a huge header", "GET /v1/me HTTP/1.1\r\n" + host + "Authorization: Bearer " + strings.Repeat("f", 1<<20) + "\r\n\r\n", 431},
		{"many headers", "GET /v1/me HTTP/1.1\r\n" + host + strings.Repeat("X-A: b\r\n", 1<<13) + "\r\n", 431},
		{"no host", "GET /v1/me HTTP/1.1\r\nConnection: close\r\n\r\n", 400},
		{"two lengths", "POST /v1/login HTTP/1.1\r\n" + host + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
		{"a negative length", "POST /v1/login HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n{}", 400},
		{"an unknown transfer encoding", "POST /v1/login HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
		{"a broken chunk", "POST /v1/login HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400},
		{"a body cut short", "POST /v1/login HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"username\":", 400},
		{"a body too large, announced", login + "Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n", 413},
		{"a body too large, cut short", login + "Content-Length: 1000000\r\n\r\n{", 413},
		{"a body of another type, announced", "POST /v1/login HTTP/1.1\r\n" + host + "Content-Type: text/plain\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n", 415},
		{"a coded body", login + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", 415},
		{"a coded body, announced", login + "Content-Encoding: gzip\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", 415},
		{"a body that says it is not coded", login + "Content-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}", 415},
		{"an unknown expectation", login + "Content-Length: 2\r\nExpect: 200-ok\r\n\r\n{}", 417},
		{"a list of lengths", login + "Content-Length: 2, 2\r\n\r\n{}", 400},
		{"a length with a sign", login + "Content-Length: +2\r\n\r\n{}", 400},
		{"a length beyond all numbers", login + "Content-Length: 99999999999999999999\r\n\r\n{}", 400},
		{"another protocol", "SSH-2.0-x\r\n\r\n", 400},
		{"the next protocol, on plain TCP", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404},
		{"CONNECT", "CONNECT x:443 HTTP/1.1\r\n" + host + "\r\n", 404},
		{"the server as a whole", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 404},
		{"a method of control characters", "G\x01T / HTTP/1.1\r\n" + host + "\r\n", 400},
		{"an absolute address", "GET http://evil.example/v1/me HTTP/1.1\r\n" + host + "\r\n", 401},
	} {
		if got := raw(t, i.Public, m.text); got != m.status {
			t.Errorf("%s: got %d, want %d", m.name, got, m.status)
		}
	}
}

// raw writes text to the server and returns the status of its answer, 0 if it
// hung up.
func raw(t *testing.T, address, text string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(e2e.Patience))
	go func() {
		_, _ = conn.Write([]byte(text)) // the server may hang up before it has read all
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
