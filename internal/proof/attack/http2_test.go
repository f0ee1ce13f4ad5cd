//go:build unix

package attack

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A peer speaks HTTP/2 frame by frame, as no client would.
type peer struct {
	conn net.Conn
	*http2.Framer
	next uint32 // stream
}

// newPeer connects and says what a client has to say first. With reads, what
// comes is read and forgotten until the end.
func (w *world) newPeer(reads bool) *peer {
	w.t.Helper()
	conn := w.dial("", w.api)
	p := &peer{conn: conn, Framer: http2.NewFramer(conn, conn), next: 1}
	p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		w.t.Fatal(err)
	}
	if err := p.WriteSettings(); err != nil {
		w.t.Fatal(err)
	}
	if reads {
		go func() { _, _ = io.Copy(io.Discard, conn) }()
	} else {
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
	return p
}

// block is an encoded list of headers: name, value, ...
func block(pairs ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(pairs); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}) // a buffer takes it
	}
	return b.Bytes()
}

func request(method, path string, more ...string) []string {
	return append([]string{":method", method, ":scheme", "http", ":authority", "x", ":path", path}, more...)
}

// open begins a stream and returns its number.
func (p *peer) open(headers []byte, end bool) (uint32, error) {
	id := p.next
	p.next += 2
	return id, p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: headers, EndStream: end, EndHeaders: true})
}

var number = regexp.MustCompile(`(?m)^go_goroutines (\d+)|^(?:flakepass_hashing_)?process_resident_memory_bytes (\S+)`)

// load is what the server has of goroutines, and of memory in MiB, with the
// process that hashes.
func (w *world) load() (goroutines, memory float64) {
	w.t.Helper()
	for _, m := range number.FindAllStringSubmatch(w.send("GET", w.ops, "/metrics", "").body, -1) {
		if m[1] != "" {
			goroutines, _ = strconv.ParseFloat(m[1], 64)
		} else {
			bytes, _ := strconv.ParseFloat(m[2], 64)
			memory += bytes
		}
	}
	if goroutines == 0 || memory == 0 {
		w.t.Fatal("the metrics do not show the load")
	}
	return goroutines, memory / (1 << 20)
}

// TestFloodsOfFramesAreBounded: one connection does to HTTP/2 what is known to
// have brought servers down, and the others do not notice.
func TestFloodsOfFramesAreBounded(t *testing.T) { //nolint:tparallel // its parts take turns on one server
	t.Parallel()
	w := newWorld(t, "H2C=on")
	token := w.register("alice")
	for _, f := range []struct {
		name  string
		reads bool
		ends  bool // the server must end the connection before the flood is over
		times int
		each  func(p *peer, i int) error
	}{
		{"rapid reset (CVE-2023-44487)", true, false, 10_000, func(p *peer, _ int) error {
			id, err := p.open(block(request("GET", "/v1/me", "authorization", "Bearer "+token)...), true)
			if err != nil {
				return err
			}
			return p.WriteRSTStream(id, http2.ErrCodeCancel)
		}},
		{"rapid reset of logins", true, false, 3000, func(p *peer, _ int) error {
			id, err := p.open(block(request("POST", "/v1/login", "content-type", "application/json")...), false)
			if err != nil {
				return err
			}
			if err := p.WriteData(id, true, []byte(object("username", "alice", "password", "wrong, all of them"))); err != nil {
				return err
			}
			return p.WriteRSTStream(id, http2.ErrCodeCancel)
		}},
		{"reset by the server's hand (CVE-2025-8671)", true, false, 10_000, func(p *peer, _ int) error {
			id, err := p.open(block(request("GET", "/v1/me", "authorization", "Bearer "+token)...), true)
			if err != nil {
				return err
			}
			return p.WriteWindowUpdate(id, 1<<31-1) // beyond what a window may be: the server resets
		}},
		{"streams without an end", true, false, 10_000, func(p *peer, _ int) error {
			_, err := p.open(block(request("POST", "/v1/login", "content-type", "application/json")...), false)
			return err
		}},
		{"headers without an end (CVE-2023-45288)", true, true, 20_000, func(p *peer, i int) error {
			part := block("x-a", strings.Repeat("b", 1000))
			if i == 0 {
				return p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: append(block(request("GET", "/v1/me")...), part...)})
			}
			return p.WriteContinuation(1, false, part)
		}},
		{"empty continuations", true, false, 200_000, func(p *peer, i int) error {
			if i == 0 {
				return p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(request("GET", "/v1/me")...)})
			}
			return p.WriteContinuation(1, false, nil)
		}},
		{"pings, unread (CVE-2019-9512)", false, true, 1_500_000, func(p *peer, _ int) error { return p.WritePing(false, [8]byte{}) }},
		{"settings (CVE-2019-9515)", true, false, 200_000, func(p *peer, _ int) error { return p.WriteSettings() }},
		{"empty data (CVE-2019-9518)", true, false, 200_000, func(p *peer, i int) error {
			if i == 0 {
				_, err := p.open(block(request("POST", "/v1/login", "content-type", "application/json")...), false)
				return err
			}
			return p.WriteData(1, false, nil)
		}},
		{"priorities (CVE-2019-9513)", true, false, 200_000, func(p *peer, i int) error {
			return p.WritePriority(uint32(1+i%1000*2), http2.PriorityParam{StreamDep: uint32(3 + i%999*2), Weight: 1})
		}},
	} {
		t.Run(f.name, func(t *testing.T) {
			p := w.newPeer(f.reads)
			stop := make(chan struct{})
			var peak, memory float64
			var watching sync.WaitGroup
			watching.Go(func() {
				for {
					goroutines, now := w.load()
					peak, memory = max(peak, goroutines), max(memory, now)
					if a := w.send("GET", w.api, "/v1/me", "", bearer(token)...); a.status != 200 {
						t.Errorf("meanwhile, another client gets %d %s", a.status, a.body)
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
			var err error
			sent := 0
			for ; sent < f.times && err == nil; sent++ {
				if sent%1000 == 0 {
					_ = p.conn.SetDeadline(time.Now().Add(patience))
				}
				err = f.each(p, sent)
			}
			close(stop)
			watching.Wait()
			_ = p.conn.Close()
			if ended := err != nil; f.ends && !ended {
				t.Errorf("%d frames, and the server still reads", sent)
			}
			t.Logf("%d sent, then %v; at most %.0f goroutines, %.0f MiB", sent, err, peak, memory)
			// 100 streams of one connection run, and each may ask the database.
			if peak > 1000 || memory > 400 {
				t.Errorf("the server had %.0f goroutines and %.0f MiB", peak, memory)
			}
		})
	}
	w.alive(token)
}

// TestHTTP2HeadersOfNoClientAreRefused: with a token that is good, none of these
// is answered as a request of its owner.
func TestHTTP2HeadersOfNoClientAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "H2C=on")
	token := w.register("alice")
	auth := "Bearer " + token
	me := slices.Clip(request("GET", "/v1/me", "authorization", auth))
	for name, c := range map[string]struct {
		headers []string
		fine    bool
	}{
		"as it should be":        {me, true},
		"a line break":           {append(me, "x-a", "b\r\nx-b: c"), false},
		"a bare line feed":       {append(me, "x-a", "b\nc"), false},
		"a NUL":                  {append(me, "x-a", "b\x00c"), false},
		"a line break in a name": {append(me, "x-a\r\nx-b", "c"), false},
		"upper case":             {append(me, "X-A", "b"), false},
		"a space in a name":      {append(me, "x a", "b"), false},
		"an empty name":          {append(me, "", "b"), false},
		"connection":             {append(me, "connection", "close"), false},
		"transfer-encoding":      {append(me, "transfer-encoding", "chunked"), false},
		"upgrade":                {append(me, "upgrade", "h2c"), false},
		"te":                     {append(me, "te", "gzip"), false},
		"no path":                {[]string{":method", "GET", ":scheme", "http", ":authority", "x", "authorization", auth}, false},
		"two paths":              {append([]string{":path", "/healthz"}, me...), false},
		"two methods":            {append([]string{":method", "POST"}, me...), false},
		"a pseudo header last":   {append(me, ":path", "/v1/me"), false},
		"an unknown pseudo one":  {append([]string{":role", "admin"}, me...), false},
		"a path of no form":      {request("GET", "v1/me", "authorization", auth), false},
		"two tokens":             {append(me, "authorization", auth), false},
		"headers beyond 16 KiB":  {append(me, "x-a", strings.Repeat("b", 15000), "x-b", strings.Repeat("b", 15000), "x-c", strings.Repeat("b", 15000)), false},
	} {
		p := w.newPeer(false)
		if _, err := p.open(block(c.headers...), true); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := p.answer(); (got == "200") != c.fine {
			t.Errorf("%s: got %s", name, got)
		}
		_ = p.conn.Close()
	}
	w.alive(token)
}

// answer is the status of the first answer, or what came in its place.
func (p *peer) answer() string {
	for {
		_ = p.conn.SetDeadline(time.Now().Add(patience))
		f, err := p.ReadFrame()
		if err != nil {
			return err.Error()
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			return f.ErrCode.String()
		case *http2.GoAwayFrame:
			return fmt.Sprintf("the end: %v", f.ErrCode)
		}
	}
}
