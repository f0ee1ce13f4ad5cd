//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package connlimit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/server/connlimit"
)

// A world is a server behind a limiter, in a synctest bubble. A request for /slow is
// under way until release is closed.
type world struct {
	t       *testing.T
	dials   chan net.Conn
	closed  chan struct{}
	release chan struct{}
	stop    func()
}

// start serves until the test is over. Of the peers only "proxy" is not bound to its
// share.
func start(t *testing.T, most int) *world {
	w := &world{t: t, dials: make(chan net.Conn), closed: make(chan struct{}), release: make(chan struct{})}
	limit := connlimit.New(most, func(a net.Addr) (string, bool) { return a.String(), a.String() != "proxy" })
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{
		Protocols: protocols, ConnState: limit.ConnState, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				<-w.release
			}
		}),
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(limit.Listen(w)) }()
	w.stop = sync.OnceFunc(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(w.stop)
	return w
}

func (w *world) Accept() (net.Conn, error) {
	select {
	case c := <-w.dials:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *world) Close() error   { close(w.closed); return nil }
func (w *world) Addr() net.Addr { return address("server") }

type address string

func (address) Network() string  { return "test" }
func (a address) String() string { return string(a) }

type from struct {
	net.Conn
	peer address
}

func (f from) RemoteAddr() net.Addr { return f.peer }

// A client is one connection.
type client struct {
	t    *testing.T
	name string
	conn net.Conn
	in   *bufio.Reader
}

// dial connects; it waits as long as the server does not accept.
func (w *world) dial(peer string) net.Conn {
	mine, its := net.Pipe()
	w.t.Cleanup(func() { _ = mine.Close() })
	w.dials <- from{its, address(peer)}
	synctest.Wait()
	return mine
}

func (w *world) client(name, peer string) *client {
	conn := w.dial(peer)
	return &client{w.t, name, conn, bufio.NewReader(conn)}
}

// asked is a client that was answered once. A second passes.
func (w *world) asked(name, peer string) *client {
	c := w.client(name, peer)
	c.ask("/")
	time.Sleep(time.Second)
	return c
}

func (c *client) send(text string) error {
	_, err := io.WriteString(c.conn, text)
	return err
}

func (c *client) ask(path string) {
	c.t.Helper()
	err := c.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
	if err == nil {
		var answer *http.Response
		if answer, err = http.ReadResponse(c.in, nil); err == nil {
			err = answer.Body.Close()
		}
	}
	if err != nil {
		c.t.Errorf("%s: %v", c.name, err)
	}
}

// gone reports that the server has hung up.
func (c *client) gone() bool {
	_ = c.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.in.Peek(1)
	_ = c.conn.SetReadDeadline(time.Time{})
	return errors.Is(err, io.EOF)
}

func expect(t *testing.T, want string, all ...*client) {
	t.Helper()
	var gone []string
	for _, c := range all {
		if c.gone() {
			gone = append(gone, c.name)
		}
	}
	if got := strings.Join(gone, " "); got != want {
		t.Errorf("hung up on %q, want %q", got, want)
	}
}

func in(t *testing.T, most int, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, start(t, most)) })
}

// A new connection is served when all others are idle, and the one that was idle for
// the longest time is closed.
func TestLongestIdleConnectionGoes(t *testing.T) {
	in(t, 3, func(t *testing.T, w *world) {
		a, b, c := w.asked("a", "1"), w.asked("b", "2"), w.asked("c", "3")
		a.ask("/")
		time.Sleep(time.Second)
		d := w.asked("d", "4")
		expect(t, "b", a, b, c, d)
		e := w.asked("e", "5")
		expect(t, "b c", a, b, c, d, e)
	})
}

// A connection on which nothing was ever sent is idle too, and one on which a request
// may have begun a moment ago is not the first to go.
func TestSilentConnectionGoesFirst(t *testing.T) {
	in(t, 3, func(t *testing.T, w *world) {
		begun := w.client("begun", "1")
		time.Sleep(time.Millisecond)
		if err := begun.send("GET / HT"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		silent := w.client("silent", "2")
		time.Sleep(time.Second)
		used := w.asked("used", "3")
		next := w.asked("next", "4")
		expect(t, "silent", begun, silent, used, next)
	})
}

// Connections that send the beginning of a request and no more keep no new one out.
func TestBegunRequestsKeepNoClientOut(t *testing.T) {
	in(t, 2, func(t *testing.T, w *world) {
		a := w.client("a", "1")
		time.Sleep(time.Second)
		b := w.client("b", "2")
		for _, c := range []*client{a, b} {
			time.Sleep(time.Second)
			if err := c.send("GET / HT"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		c := w.asked("c", "3")
		expect(t, "a", a, b, c)
	})
}

// No request under way is cut off. A new connection waits for one to end if there is
// one on each.
func TestConnectionWithARequestStays(t *testing.T) {
	in(t, 2, func(t *testing.T, w *world) {
		busy := w.client("busy", "1")
		answered := make(chan struct{})
		go func() { defer close(answered); busy.ask("/slow") }()
		time.Sleep(time.Second)
		idle := w.asked("idle", "2")
		other := w.client("other", "3")
		expect(t, "idle", idle, other)
		also := make(chan struct{})
		go func() { defer close(also); other.ask("/slow") }()
		time.Sleep(time.Second)
		waits := w.client("waits", "4")
		served := make(chan struct{})
		go func() { defer close(served); waits.ask("/") }()
		time.Sleep(time.Second)
		select {
		case <-served:
			t.Error("a third is served while there is a request on both")
		default:
		}
		close(w.release)
		<-answered
		<-also
		<-served
		gone := 0
		for _, c := range []*client{busy, other} {
			if c.gone() {
				gone++
			}
		}
		if gone != 1 {
			t.Errorf("hung up on %d of two, want the one place that was needed", gone)
		}
	})
}

// A peer that is no proxy has half of the connections, and beyond that loses its
// own.
func TestPeerHasNoMoreThanItsShare(t *testing.T) {
	in(t, 6, func(t *testing.T, w *world) {
		other := w.asked("other", "2")
		var own []*client
		for i := range 5 {
			own = append(own, w.asked(fmt.Sprint("own", i), "1"))
		}
		expect(t, "own0 own1", append(own, other)...)
		for _, c := range own[2:] {
			go func() { _ = c.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n") }()
		}
		time.Sleep(time.Second)
		more := w.client("more", "1")
		expect(t, "more", append(own[2:], other, more)...)
		another := w.asked("another", "3")
		expect(t, "", append(own[2:], other, another)...)
		close(w.release)
	})
	in(t, 6, func(t *testing.T, w *world) {
		var all []*client
		for i := range 6 {
			all = append(all, w.asked(fmt.Sprint("client", i), "proxy"))
		}
		expect(t, "", all...)
		expect(t, "client0", append(all, w.asked("other", "1"))...)
	})
}

// A connection of HTTP/2 stays while it has a stream, and goes when it has been idle
// for the longest time.
func TestHTTP2ConnectionIsIdleWithoutStreams(t *testing.T) {
	in(t, 2, func(t *testing.T, w *world) {
		protocols := &http.Protocols{}
		protocols.SetUnencryptedHTTP2(true)
		dials := 0
		ways := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials++
			return w.dial("1"), nil
		}}
		defer ways.CloseIdleConnections()
		get := func(path string) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x"+path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := ways.RoundTrip(r)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return
			}
			_ = resp.Body.Close()
		}
		answered := make(chan struct{})
		go func() { defer close(answered); get("/slow") }()
		time.Sleep(time.Second)
		a := w.asked("a", "2")
		b := w.asked("b", "3")
		expect(t, "a", a, b)
		close(w.release)
		<-answered
		time.Sleep(time.Minute / 2)
		b.ask("/")
		time.Sleep(time.Second)
		c := w.asked("c", "4") // takes the place of HTTP/2
		expect(t, "", b, c)
		time.Sleep(time.Second)
		get("/") // on another connection, which takes the place of b
		expect(t, "b", b, c)
		if dials != 2 {
			t.Errorf("%d connections of HTTP/2, want 2", dials)
		}
	})
}

// The server stops also while a connection waits for a place.
func TestCloseEndsWaiting(t *testing.T) {
	in(t, 1, func(t *testing.T, w *world) {
		a := w.client("a", "proxy")
		go func() { _ = a.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n") }()
		time.Sleep(time.Second)
		b := w.client("b", "proxy")
		w.stop()
		expect(t, "b", b)
		close(w.release)
	})
}
