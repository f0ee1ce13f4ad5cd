//go:build unix

package attack

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// A slow client sends what it sends first, and then drips a byte now and then.
type slow struct {
	name, first, drip string
	connections       int
	reads             bool
}

// TestSlowClientsAreHungUpOn, and keep no other client waiting meanwhile.
func TestSlowClientsAreHungUpOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.register("alice")
	const login = "POST /v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	var held []*held
	for _, s := range []slow{
		{"says nothing", "", "", 60, true},
		{"never ends the first line", "GET /v1/", "a", 60, true},
		{"never ends the headers", "GET /v1/me HTTP/1.1\r\nHost: x\r\nX-A: ", "b", 80, true},
		{"never ends the body", login + "Content-Length: 8000\r\n\r\n{", " ", 80, true},
		{"never ends the chunks", login + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", 40, true},
		{"never reads", strings.Repeat("GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n", 400), "\r\n", 12, false},
	} {
		for range s.connections {
			held = append(held, w.hold(s, w.api))
		}
	}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * patience); ; <-tick.C {
		if a := w.send("GET", w.api, "/v1/me", "", bearer(token)...); a.status != 200 {
			t.Fatalf("meanwhile, another client gets %d %s", a.status, a.body)
		}
		left := map[string]int{}
		for _, h := range held {
			if h.on() {
				left[h.name]++
			}
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("still connected: %v", left)
		}
	}
	w.alive(token)
}

// A held connection is a slow client's.
type held struct {
	slow
	conn net.Conn
	gone bool
}

func (w *world) hold(s slow, at string) *held {
	conn := w.dial("", at)
	if !s.reads {
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, s.first); err != nil {
		w.t.Fatalf("%s: %v", s.name, err)
	}
	return &held{slow: s, conn: conn}
}

// on drips, and reports whether the other side is still there.
func (h *held) on() bool {
	if h.gone {
		return false
	}
	_ = h.conn.SetDeadline(time.Now().Add(time.Millisecond))
	_, err := io.WriteString(h.conn, h.drip)
	if h.gone = err != nil && !errors.Is(err, os.ErrDeadlineExceeded); h.gone || !h.reads {
		return !h.gone
	}
	for buf := make([]byte, 1024); err == nil || errors.Is(err, os.ErrDeadlineExceeded); {
		_ = h.conn.SetDeadline(time.Now().Add(time.Millisecond))
		if _, err = h.conn.Read(buf); errors.Is(err, os.ErrDeadlineExceeded) {
			return true
		}
	}
	h.gone = true
	return false
}

// TestSlowClientsGiveTheirPlacesBack: they may take all connections that there
// are, and have to let go. The operators' port is another.
func TestSlowClientsGiveTheirPlacesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "MAX_CONNECTIONS=20")
	for range 20 {
		w.hold(slow{name: "all of them", first: "GET /v1/me HTTP/1.1\r\n"}, w.api)
	}
	if a := w.send("GET", w.ops, "/healthz", ""); a.status != 200 {
		t.Errorf("the operators' port: %d", a.status)
	}
	if a := w.send("GET", w.api, "/healthz", ""); a.status != 200 { // waits for the first to go
		t.Errorf("got %d", a.status)
	}
}

// TestOneConnectionServesManyRefusals: a client that is refused may go on, and
// what a refused request had for a body is no request.
func TestOneConnectionServesManyRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const body = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	one := fmt.Sprintf("POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	statuses, _ := w.talk("", w.api, strings.Repeat(one, 50)+strings.Repeat("GET /v1/me HTTP/1.1\r\nHost: x\r\n\r\n", 50)+goodbye)
	if count(statuses, 405) != 50 || count(statuses, 401) != 50 || len(statuses) != 101 || statuses[100] != http.StatusNotFound {
		t.Errorf("got %v", statuses)
	}
}
