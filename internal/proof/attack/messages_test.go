//go:build unix

package attack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A hidden message has a second request in its body, or where its body would be
// if one of the readers ended it elsewhere.
type hidden struct{ name, text string }

// goodbye comes after each message, and ends the connection.
const goodbye = "GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

// inner is what is hidden.
const inner = "GET /v1/me HTTP/1.1\r\nHost: x\r\nX-Request-Id: inner-ID\r\n\r\n"

// hiddenMessages are those about which readers of HTTP have disagreed.
func hiddenMessages() (all []hidden) {
	const head = "POST /v1/login HTTP/1.1\r\nHost: x\r\nX-Request-Id: outer-ID\r\nContent-Type: application/json\r\n"
	with := func(name, headers, body string) {
		text := head + headers + "\r\n" + body
		all = append(all, hidden{name, strings.ReplaceAll(text, "LENGTH", fmt.Sprint(len(body)))})
	}
	chunked := "0\r\n\r\n" + inner
	lengths := "2\r\n{}\r\n0\r\n\r\n" + inner
	for name, coding := range map[string]string{
		"plain": "Transfer-Encoding: chunked\r\n", "unknown": "Transfer-Encoding: xchunked\r\n", "tab": "Transfer-Encoding:\tchunked\r\n",
		"folded": "Transfer-Encoding:\r\n chunked\r\n", "space before the colon": "Transfer-Encoding : chunked\r\n", "twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"identity first": "Transfer-Encoding: identity, chunked\r\n", "identity last": "Transfer-Encoding: chunked, identity\r\n", "quoted": "Transfer-Encoding: \"chunked\"\r\n",
		"vertical tab": "Transfer-Encoding:\x0bchunked\r\n", "trailing tab": "Transfer-Encoding: chunked\t\r\n", "case": "tRANSFER-eNCODING: CHUNKED\r\n",
		"behind a line without a colon": "X\r\nTransfer-Encoding: chunked\r\n", "bare LF": "X-A: b\nTransfer-Encoding: chunked\r\n", "bare CR": "X-A: b\rTransfer-Encoding: chunked\r\n",
		"a NUL": "Transfer-Encoding: chunked\x00\r\n", "underscore": "Transfer_Encoding: chunked\r\n", "a comma": "Transfer-Encoding: chunked,\r\n",
		"named hop by hop": "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n",
	} {
		with("length and coding, "+name, "Content-Length: LENGTH\r\n"+coding, chunked)
		with("coding and short length, "+name, coding+"Content-Length: 3\r\n", lengths)
		with("coding only, "+name, coding, chunked)
	}
	for name, length := range map[string]string{
		"two": "Content-Length: 0\r\nContent-Length: LENGTH\r\n", "two, the other way": "Content-Length: LENGTH\r\nContent-Length: 0\r\n", "a list": "Content-Length: 0, LENGTH\r\n",
		"a sign": "Content-Length: +LENGTH\r\n", "negative": "Content-Length: -1\r\n", "hexadecimal": "Content-Length: 0xff\r\n", "a space": "Content-Length: 0 LENGTH\r\n",
		"folded": "Content-Length:\r\n LENGTH\r\n", "beyond all numbers": "Content-Length: 18446744073709551616\r\n", "empty": "Content-Length:\r\n", "letters": "Content-Length: LENGTHx\r\n",
		"none": "", "named hop by hop": "Connection: Content-Length\r\nContent-Length: LENGTH\r\n", "a zero before": "Content-Length: 0LENGTH\r\n",
		"underscore": "Content_Length: LENGTH\r\n", "space before the colon": "Content-Length : LENGTH\r\n", "told to wait": "Expect: 100-continue\r\nContent-Length: LENGTH\r\n",
	} {
		with("length, "+name, length, inner)
	}
	for name, chunks := range map[string]string{
		"a size beyond all numbers": "FFFFFFFFFFFFFFFFF\r\n" + inner, "hexadecimal with a mark": "0x0\r\n\r\n" + inner, "negative": "-1\r\n\r\n" + inner,
		"bare LF": "0\n\n" + inner, "an extension that ends early": "0;a\n\r\n" + inner, "an extension with CR": "0;a\rb\r\n\r\n" + inner, "space after the size": "0 \r\n\r\n" + inner,
		"no line end after the data": "2\r\n{}0\r\n\r\n" + inner, "a longer chunk than told": "1\r\n{}\r\n0\r\n\r\n" + inner, "trailers": "0\r\nAuthorization: Bearer x\r\nContent-Length: 9\r\n\r\n" + inner,
		"underscores": "0_0\r\n\r\n" + inner, "a huge extension": "0;" + strings.Repeat("a", 20000) + "\r\n\r\n" + inner,
	} {
		with("chunks, "+name, "Transfer-Encoding: chunked\r\n", chunks)
	}
	const get = "X-Request-Id: outer-ID\r\n"
	return append(all,
		hidden{"GET with a body", fmt.Sprintf("GET /v1/me HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", get, len(inner), inner)},
		hidden{"HTTP/1.0 and chunks", "POST /v1/login HTTP/1.0\r\nHost: x\r\n" + get + "Transfer-Encoding: chunked\r\n\r\n" + chunked},
		hidden{"HTTP/0.9", "GET /v1/me\r\n" + get + "\r\n" + inner},
		hidden{"a version from the future", "GET /v1/me HTTP/3.0\r\nHost: x\r\n" + get + "\r\n" + inner},
		hidden{"a line break in the path", "GET /v1/me%0d%0aX-A:b HTTP/1.1\r\nHost: x\r\n" + get + "\r\n" + inner},
		hidden{"a space in the path", "GET /v1/me HTTP/1.1 HTTP/1.1\r\nHost: x\r\n" + get + "\r\n" + inner},
		hidden{"an upgrade to HTTP/2", "GET /v1/me HTTP/1.1\r\nHost: x\r\n" + get + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n" + inner},
		hidden{"an upgrade to WebSocket", "GET /v1/me HTTP/1.1\r\nHost: x\r\n" + get + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 99\r\n\r\n" + inner},
		hidden{"two hosts", "GET /v1/me HTTP/1.1\r\nHost: x\r\nHost: y\r\n" + get + "\r\n" + inner},
		hidden{"another host in the target", "GET http://y/v1/me HTTP/1.1\r\nHost: x\r\n" + get + "\r\n" + inner},
		hidden{"a folded first header", "GET /v1/me HTTP/1.1\r\n Host: x\r\n" + get + "\r\n" + inner},
		hidden{"CONNECT", "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n" + get + "\r\n" + inner},
		hidden{"the beginning of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + inner},
	)
}

// TestNoRequestIsSmuggledPastNginx: whatever the framing, no request arrives of
// which the client has no answer, and none is taken for another.
func TestNoRequestIsSmuggledPastNginx(t *testing.T) { //nolint:tparallel // its parts take turns on one server
	t.Parallel()
	w := newWorld(t)
	token := w.register("alice")
	w.directAndProxied(t, func(t *testing.T, at string) {
		found := 0
		for i, m := range hiddenMessages() {
			id := fmt.Sprintf("%05d-%d", i, len(t.Name()))
			statuses, _ := w.talk("", at, strings.ReplaceAll(m.text, "-ID", "-"+id)+goodbye)
			if slices.ContainsFunc(statuses, func(s int) bool { return s >= 200 && s < 300 || s >= 500 && s != 501 && s != 505 }) {
				t.Errorf("%s: the answers are %v", m.name, statuses)
			}
			// The next request passes through the same connections, and comes
			// after what could still be under way.
			if a := w.send("GET", at, "/v1/me", "", append(bearer(token), "X-Request-Id", "after-"+id)...); a.status != 200 || a.field("username") != "alice" {
				t.Fatalf("%s: the request after it gets %d %s", m.name, a.status, a.body)
			}
			// If what is hidden was a request to the server, it was one to nginx, which
			// has answered both.
			seen := strings.Contains(w.logSince("after-"+id), "request_id=inner-"+id)
			if answered := len(statuses) - count(statuses, 100); seen && answered < 2 {
				t.Errorf("%s: what is hidden arrived, and the client has %v", m.name, statuses)
			}
			if seen {
				found++
			}
		}
		if found == 0 {
			t.Error("nothing that is hidden ever arrives, also where it is a request of its own: this test sees nothing")
		}
	})
	w.alive(token)
}

func count(list []int, what int) (n int) {
	for _, x := range list {
		if x == what {
			n++
		}
	}
	return n
}

// logSince is the log, which has the request with that ID.
func (w *world) logSince(id string) (text string) {
	w.t.Helper()
	testenv.Eventually(w.t, patience, func() bool { text = w.process.Log(); return strings.Contains(text, "request_id="+id) }, "the log has the request "+id)
	return text
}

// TestPlainErrorsRepeatNothing: what is refused before there is a request to
// route is answered by a fixed text, of no type that a browser runs.
func TestPlainErrorsRepeatNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, text := range []string{
		"GET /<script>alert(1)</script> HTTP/9.9\r\nHost: x\r\n\r\n", "<script>alert(1)</script>\r\n\r\n", "GET / HTTP/1.1\r\nHost: <script>\r\n\r\n",
		"GET / HTTP/1.1\r\n<script>: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: <script>\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("<script>", 1<<14) + "\r\n\r\n",
	} {
		for _, at := range []string{w.api, w.ops} {
			statuses, got := w.talk("", at, text)
			if len(statuses) != 1 || statuses[0] < 400 || strings.Contains(got.body, "script") || got.header.Get("Location") != "" ||
				!strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
				t.Errorf("%.40q: got %v %v %q", text, statuses, got.header, got.body)
			}
		}
	}
}
