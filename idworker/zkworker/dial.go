package zkworker

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// dialer connects in such a way that the end of ctx cuts every connection, and
// that no read waits for much longer than a session lasts. The library by itself
// waits ten times as long for a server that takes the connection and stands
// still, while another might answer.
func dialer(ctx context.Context, session time.Duration) zk.Dialer {
	var last net.Conn
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		// The library uses one at a time, and leaves that of an expired session open.
		if last != nil {
			_ = last.Close()
		}
		d := net.Dialer{Timeout: timeout}
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		last = &patient{Conn: conn, most: session, stop: stop}
		return last, nil
	}
}

// A patient connection has bounded patience.
type patient struct {
	net.Conn
	most time.Duration
	stop func() bool
}

// SetReadDeadline is what the library calls before and after each read.
func (p *patient) SetReadDeadline(t time.Time) error {
	if most := time.Now().Add(p.most); t.IsZero() || t.After(most) {
		t = most
	}
	return p.Conn.SetReadDeadline(t)
}

// Write closes the connection if it fails, and returns no error. The library would report that the request
// has failed, and report it again when it reads that the connection is closed. While it presents the user
// again it has room for one report, and would wait for ever to make the second.
func (p *patient) Write(b []byte) (int, error) {
	if _, err := p.Conn.Write(b); err != nil {
		_ = p.Close()
	}
	return len(b), nil
}

func (p *patient) Close() error {
	p.stop()
	return p.Conn.Close()
}

// hosts goes round the servers. The library's own way looks names up once, and
// refuses to begin if that fails.
type hosts struct {
	mu    sync.Mutex
	all   []string
	next  int
	tried int // since the last connection
}

var _ zk.HostProvider = (*hosts)(nil)

// Init implements [zk.HostProvider].
func (h *hosts) Init(servers []string) error { h.all = servers; return nil }

// Len implements [zk.HostProvider].
func (h *hosts) Len() int { return len(h.all) }

// Next implements [zk.HostProvider]. After each full round without a connection
// the library pauses, and fails what waits.
func (h *hosts) Next() (server string, retryStart bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server = h.all[h.next]
	h.next = (h.next + 1) % len(h.all)
	retryStart = h.tried > 0 && h.tried%len(h.all) == 0
	h.tried++
	return server, retryStart
}

// Connected implements [zk.HostProvider].
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried = 0
}
