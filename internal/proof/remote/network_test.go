package remote_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A network carries the calls of one Remote to an instance, with whatever is in
// the way. It lives in a synctest bubble.
type network struct {
	mu     sync.Mutex
	to     *place
	down   bool
	out    time.Duration // a request takes this long
	back   time.Duration // and an answer, or a part of one, this long
	held   chan struct{} // streams are held back until it is closed; nil if they are not
	cutter chan struct{} // streams are cut when it is closed

	calls   atomic.Int64 // to /v1/verifications
	streams atomic.Int64
	tokens  atomic.Int64 // bytes asked with, in all
}

func newNetwork(to *place) *network { return &network{to: to, cutter: make(chan struct{})} }

func (n *network) set(edit func(*network)) { n.mu.Lock(); defer n.mu.Unlock(); edit(n) }

// cut breaks all streams off.
func (n *network) cut() { n.set(func(n *network) { close(n.cutter); n.cutter = make(chan struct{}) }) }

// hold holds all streams back, and release lets go of what was held.
func (n *network) hold() {
	n.set(func(n *network) {
		if n.held == nil {
			n.held = make(chan struct{})
		}
	})
}

func (n *network) release() {
	n.set(func(n *network) {
		if n.held != nil {
			close(n.held)
			n.held = nil
		}
	})
}

var errDown = errors.New("no route to the server")

// sleep starts no timer for no time: Go 1.26 crashes in the race detector where two goroutines
// of one bubble read at once from timers that are due (both run them in the bubble's one context).
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	to, down, out, cutter := n.to, n.down, n.out, n.cutter
	n.mu.Unlock()
	if down {
		return nil, errDown
	}
	if r.Body != nil {
		n.calls.Add(1)
		n.tokens.Add(r.ContentLength)
	} else {
		n.streams.Add(1)
	}
	if err := sleep(r.Context(), out); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	w := &carried{n: n, header: http.Header{}, ready: make(chan struct{}), parts: make(chan part, 1<<14), cutter: cutter, cancel: cancel, ctx: ctx}
	r = r.Clone(ctx)
	r.RequestURI = r.URL.Path
	if r.Body == nil {
		r.Body = http.NoBody
	}
	go func() {
		defer close(w.parts)
		to.handler.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
	}()
	select {
	case <-w.ready:
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
	n.mu.Lock()
	back := n.back
	n.mu.Unlock()
	if err := sleep(ctx, back); err != nil {
		cancel()
		return nil, err
	}
	return &http.Response{
		StatusCode: w.status, Header: w.sent, Body: w, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
	}, nil
}

// A carried is an answer on its way: the server's writer and the client's body.
type carried struct {
	n      *network
	header http.Header
	sent   http.Header
	status int
	once   sync.Once
	ready  chan struct{}
	parts  chan part
	rest   []byte
	cutter chan struct{}
	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // of one exchange
}

type part struct {
	bytes []byte
	at    time.Time // when it arrives, unless it is held
}

func (c *carried) Header() http.Header { return c.header }

func (c *carried) WriteHeader(status int) {
	c.once.Do(func() { c.status, c.sent = status, maps.Clone(c.header); close(c.ready) })
}

func (c *carried) Write(b []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	c.n.mu.Lock()
	at := time.Now().Add(c.n.back)
	c.n.mu.Unlock()
	select {
	case c.parts <- part{slices.Clone(b), at}:
		return len(b), nil
	case <-c.ctx.Done():
		return 0, c.ctx.Err()
	}
}

func (c *carried) Flush()                           {}
func (c *carried) SetWriteDeadline(time.Time) error { return nil }
func (c *carried) SetReadDeadline(time.Time) error  { return nil }

func (c *carried) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		select {
		case p, ok := <-c.parts:
			if !ok {
				return 0, io.EOF
			}
			c.rest = p.bytes
			_ = sleep(c.ctx, time.Until(p.at))
		case <-c.cutter:
			return 0, io.ErrUnexpectedEOF
		case <-c.ctx.Done():
			return 0, c.ctx.Err()
		}
		for {
			c.n.mu.Lock()
			held := c.n.held
			c.n.mu.Unlock()
			if held == nil {
				break
			}
			select {
			case <-held:
			case <-c.cutter:
				return 0, io.ErrUnexpectedEOF
			case <-c.ctx.Done():
				return 0, c.ctx.Err()
			}
		}
	}
	k := copy(b, c.rest)
	c.rest = c.rest[k:]
	return k, nil
}

func (c *carried) Close() error { c.cancel(); return nil }
