//go:build unix

package proxies

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// aliases is every spelling of the identity headers that a client behind a proxy
// may read as one of them.
func aliases() (all []string) {
	for _, name := range []string{"X-Auth-User-Id", "X-Auth-Username", "X-Auth-Role", "X-Auth-Session-Id", "X-Auth-Expires-In", "X-Auth-Idle-Expires-In", "X-Auth-Act", "X-Auth-Signature"} {
		all = append(all, name, strings.ToLower(name), strings.ToUpper(name))
		for _, sep := range []string{"_", "."} {
			last := strings.LastIndex(name, "-")
			all = append(all, strings.ReplaceAll(name, "-", sep), strings.ToLower(strings.ReplaceAll(name, "-", sep)),
				strings.Replace(name, "-", sep, 1), name[:last]+sep+name[last+1:])
		}
	}
	// Every character of a name (RFC 9110 section 5.6.2) that CGI turns into an
	// underscore.
	for _, sep := range strings.Split("!#$%&'*+^`|~", "") {
		all = append(all, strings.ReplaceAll("X-Auth-Role", "-", sep), strings.ReplaceAll("X-Auth-User-Id", "-", sep))
	}
	return all
}

// forged reports whether a request that arrived has what only an attacker sends.
func forged(h http.Header) string {
	for name, values := range h {
		for _, v := range values {
			if strings.Contains(v, "FORGED") || v == "999999" {
				return name + ": " + v
			}
		}
	}
	return ""
}

// TestSpoofedIdentityDoesNotGetThroughTheProxy: not beside a token, nor without
// one, nor where every client may go.
func TestSpoofedIdentityDoesNotGetThroughTheProxy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world, _ string) {
		for i, alias := range aliases() {
			value := []string{"FORGED", "999999"}[i%2]
			got := w.ask("GET", "/orders", "", append(w.bearer(), alias, value)...)
			if got.status != 200 || got.Username != "alice" || got.Role != "user" {
				t.Errorf("%s beside a token: got %d %s", alias, got.status, got.body)
			}
			if got := w.ask("GET", "/orders", "", alias, value); got.status != 401 {
				t.Errorf("%s without a token: got %d %s", alias, got.status, got.body)
			}
			if got := w.ask("GET", "/open/news", "", alias, value); got.status != 200 || got.Username != "" {
				t.Errorf("%s where every client may go: got %d %s", alias, got.status, got.body)
			}
			seen, said := w.service.arrived()
			for _, h := range seen {
				if bad := forged(h); bad != "" {
					t.Errorf("%s: the service saw %s", alias, bad)
				}
			}
			if len(seen) != 2 || len(said) != 0 {
				t.Errorf("%s: the service saw %d requests and said %v", alias, len(seen), said)
			}
		}
		// Twice, and one of them ours.
		got := w.ask("GET", "/orders", "", append(w.bearer(), "X-Auth-Role", "FORGED", "X-Auth-Role", "user", "x-auth-role", "FORGED")...)
		if got.status != 200 || got.Role != "user" {
			t.Errorf("twice: got %d %s", got.status, got.body)
		}
		// What the proxy reports to flakepass about the request is not the client's to say.
		got = w.ask("GET", "/orders", "", append(w.bearer(), "X-Forwarded-Uri", "/other", "X-Forwarded-Method", "PUT")...)
		if _, said := w.service.arrived(); got.status != 200 || len(said) != 0 {
			t.Errorf("X-Forwarded-Uri of a client: got %d, the service said %v", got.status, said)
		}
	})
}

// TestHopByHopTricksMakeNoOtherUser: a client may ask the proxy to drop a header
// on the way (RFC 9110 section 7.6.1). Then it is refused, or the proxy does not:
// no identity arrives without one of its parts.
func TestHopByHopTricksMakeNoOtherUser(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world, _ string) {
		support := w.support()
		for _, connection := range []string{"close", "X-Auth-Act", "keep-alive, x-auth-act", "X-Auth-Act, X-Auth-Session-Id", "X-Auth-Signature", "X_Auth_Act"} {
			status, body := w.raw("GET /orders HTTP/1.1\r\nHost: PROXY\r\nAuthorization: Bearer " + support + "\r\nConnection: " + connection + "\r\n\r\n")
			marked := strings.Contains(body, `"Username":"alice"`) && !strings.Contains(body, `"Act":"0"`)
			if status != 400 && (status != 200 || !marked) || connection == "close" && status != 200 {
				t.Errorf("Connection: %s: an impersonation got %d %s", connection, status, body)
			}
			for _, h := range first(w.service.arrived()) {
				if len(h["X-Auth-Act"]) != 1 || h["X-Auth-Session-Id"] != nil {
					t.Errorf("Connection: %s: the service saw %v", connection, h)
				}
			}
		}
		for _, connection := range []string{
			"X-Auth-Role", "close, X-Auth-Role", "keep-alive, x-auth-user-id, x-auth-role", "X-Auth-Signature", "X-Auth-Expires-In",
			"Authorization", "X-Forwarded-Uri", "X-Forwarded-Method", "x-auth-role ,", "X_Auth_Role",
		} {
			lines := fmt.Sprintf("Authorization: Bearer %s\r\nConnection: %s\r\n", w.token, connection)
			for _, more := range []string{"", "X-Auth-Role: FORGED\r\n", "Connection: close\r\n"} {
				status, body := w.raw("GET /orders HTTP/1.1\r\nHost: PROXY\r\n" + lines + more + "\r\n")
				switch {
				case status == 200 && strings.Contains(body, `"Username":"alice","Role":"user"`):
				case status == 400, status == 401 && connection == "Authorization":
				default:
					t.Errorf("Connection: %s: got %d %s", connection, status, body)
				}
				seen, _ := w.service.arrived()
				for _, h := range seen {
					if bad := forged(h); bad != "" {
						t.Errorf("Connection: %s: the service saw %s", connection, bad)
					}
					for _, part := range []string{"X-Auth-User-Id", "X-Auth-Username", "X-Auth-Role", "X-Auth-Session-Id", "X-Auth-Signature"} {
						if len(h[part]) != 1 {
							t.Errorf("Connection: %s: the service saw %s %q", connection, part, h[part])
						}
					}
				}
			}
		}
	})
}

func first(seen []http.Header, _ []error) []http.Header { return seen }

// raw sends bytes, in which PROXY is its address, to the proxy and returns the first answer; 0 if there is none.
func (w *world) raw(request string) (status int, body string) {
	w.t.Helper()
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(w.t.Context(), "tcp", w.proxy)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, strings.ReplaceAll(request, "PROXY", w.proxy)); err != nil && !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "broken pipe") {
		w.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// TestOddCredentialsAreRefusedByTheProxy: what is not exactly one token gets
// nobody in.
func TestOddCredentialsAreRefusedByTheProxy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world, proxy string) {
		good := "Authorization: Bearer " + w.token + "\r\n"
		for name, c := range map[string]struct {
			lines  string
			status []int
		}{
			"one":              {good, []int{200}},
			"lower case":       {"authorization: bearer " + w.token + "\r\n", []int{200}},
			"folded":           {"Authorization: Bearer\r\n " + w.token + "\r\n", []int{200, 400, 401}},
			"two, equal":       {good + good, []int{400}},
			"two, different":   {good + "Authorization: Bearer x\r\n", []int{400}},
			"two, one basic":   {"Authorization: Basic eDp5\r\n" + good, []int{400}},
			"empty":            {"Authorization:\r\n", []int{401}},
			"empty bearer":     {"Authorization: Bearer\r\n", []int{401}},
			"bearer of spaces": {"Authorization: Bearer    \r\n", []int{401}},
			"wrong scheme":     {"Authorization: Token " + w.token + "\r\n", []int{401}},
			"100 kB":           {"Authorization: Bearer " + strings.Repeat("A", 100_000) + "\r\n", []int{400, 431}},
			"100 kB elsewhere": {good + "X-Big: " + strings.Repeat("A", 100_000) + "\r\n", []int{400, 431}},
			"NUL":              {"Authorization: Bearer " + w.token + "\x00\r\n", []int{400, 401}},
			"NUL elsewhere":    {good + "X-Odd: a\x00b\r\n", []int{400}},
			"bare CR":          {good + "X-Odd: a\rX-Auth-Role: FORGED\r\n", []int{400}},
			"high bytes":       {"Authorization: Bearer " + strings.Repeat("\xff", 46) + "\r\n", []int{400, 401}},
			"space in a name":  {good + "X-Auth-Role : FORGED\r\n", []int{200, 400}},
			"no host":          {"DROP-HOST" + good, []int{400}},
		} {
			host := "Host: PROXY\r\n"
			lines, without := strings.CutPrefix(c.lines, "DROP-HOST")
			if without {
				host = ""
			}
			status, body := w.raw("GET /orders HTTP/1.1\r\nConnection: close\r\n" + host + lines + "\r\n")
			ok := false
			for _, s := range c.status {
				ok = ok || s == status
			}
			if !ok || status == 200 && !strings.Contains(body, `"Role":"user"`) {
				t.Errorf("%s: got %d %.300s, want %v", name, status, body, c.status)
			}
			seen, said := w.service.arrived()
			for _, h := range seen {
				if bad := forged(h); bad != "" {
					t.Errorf("%s: the service saw %s", name, bad)
				}
			}
			if len(said) > 0 || len(seen) > 0 && status != 200 {
				t.Errorf("%s: refused with %d, and the service saw %d and said %v", name, status, len(seen), said)
			}
		}
	})
}

// TestSmuggledRequestsDoNotArrive: a request whose length can be read in two ways
// is one request for all, or none. No second one reaches the service that
// the proxy did not ask about.
func TestSmuggledRequestsDoNotArrive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world, _ string) {
		hidden := "GET /smuggled HTTP/1.1\r\nHost: PROXY\r\nX-Auth-User-Id: 999999\r\nX-Auth-Role: FORGED\r\nX-Auth-Username: FORGED\r\nX-Auth-Session-Id: 999999\r\n\r\n"
		head := "POST /orders HTTP/1.1\r\nHost: PROXY\r\nAuthorization: Bearer " + w.token + "\r\n"
		chunked := func(body string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body) }
		hidden = strings.ReplaceAll(hidden, "PROXY", w.proxy) // before its length is taken
		for name, request := range map[string]string{
			"CL.TE":                  head + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", 5+len(hidden), hidden),
			"TE.CL":                  head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(hidden),
			"TE.TE":                  head + fmt.Sprintf("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\nContent-Length: %d\r\n\r\n0\r\n\r\n%s", 5+len(hidden), hidden),
			"odd TE":                 head + fmt.Sprintf("Transfer-Encoding: xchunked\r\nContent-Length: %d\r\n\r\n0\r\n\r\n%s", 5+len(hidden), hidden),
			"TE with a tab":          head + fmt.Sprintf("Transfer-Encoding:\tchunked\r\nContent-Length: %d\r\n\r\n0\r\n\r\n%s", 5+len(hidden), hidden),
			"TE with a space before": head + fmt.Sprintf("Transfer-Encoding : chunked\r\nContent-Length: %d\r\n\r\n0\r\n\r\n%s", 5+len(hidden), hidden),
			"TE_underscore":          head + fmt.Sprintf("Transfer_Encoding: chunked\r\nContent-Length: %d\r\n\r\n0\r\n\r\n%s", 5+len(hidden), hidden),
			"two lengths":            head + fmt.Sprintf("Content-Length: 0\r\nContent-Length: %d\r\n\r\n%s", len(hidden), hidden),
			"length with a sign":     head + fmt.Sprintf("Content-Length: +%d\r\n\r\n%s", len(hidden), hidden),
			"length in a list":       head + fmt.Sprintf("Content-Length: 0, %d\r\n\r\n%s", len(hidden), hidden),
			"GET with a body":        strings.Replace(head, "POST", "GET", 1) + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(hidden), hidden),
			"chunk extension":        head + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n0;a=\n\r\n\r\n%s", hidden),
			"bare LF":                strings.ReplaceAll(head, "\r\n", "\n") + fmt.Sprintf("Content-Length: %d\n\n%s", len(hidden), hidden),
			"expect":                 head + fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", len(hidden), hidden),
			"upgrade":                head + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n" + hidden,
		} {
			// A second request on the same connection flushes what is left over.
			answers := w.pipeline(request + "GET /orders/flush HTTP/1.1\r\nHost: PROXY\r\nConnection: close\r\nAuthorization: Bearer " + w.token + "\r\n\r\n")
			seen, said := w.service.arrived()
			for _, h := range seen {
				if bad := forged(h); bad != "" {
					t.Errorf("%s: the service saw %s as a header of its own", name, bad)
				}
			}
			if len(said) > 0 {
				t.Errorf("%s: the service said %v", name, said)
			}
			for _, a := range answers {
				if strings.Contains(a, `"Target":"/smuggled"`) {
					t.Errorf("%s: a smuggled request was answered: %s", name, a)
				}
			}
		}
	})
}

// pipeline sends bytes to the proxy and returns the bodies of all answers.
func (w *world) pipeline(requests string) (bodies []string) {
	w.t.Helper()
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(w.t.Context(), "tcp", w.proxy)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second)) // a proxy that waits for more gets no more
	_, _ = io.WriteString(conn, strings.ReplaceAll(requests, "PROXY", w.proxy))
	for r := bufio.NewReader(conn); ; {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return bodies
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if bodies = append(bodies, string(text)); err != nil {
			return bodies
		}
	}
}
