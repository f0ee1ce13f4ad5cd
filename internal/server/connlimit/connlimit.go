// Package connlimit bounds the connections to a server, so that no client that
// holds many keeps others out.
package connlimit

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A Limiter lets a number of connections be open at the same time. When there are as many, it
// closes the connection that has been idle for the longest time for each new one. If a request is
// under way on each of them, the new connection waits. Make a Limiter with [New], and set its
// ConnState as that of the server.
type Limiter struct {
	most, share int
	from        func(net.Addr) (peer string, bound bool)
	begun       time.Time

	waits atomic.Bool // a connection waits for a place

	mu    sync.Mutex
	all   group
	peers map[string]*group
	freed chan struct{} // closed, and another made, when there may be a place
}

// New returns a limiter of that many connections, at least one. from names the peer
// of a connection, and says whether that is bound to its share, half of the
// connections. A reverse proxy has the connections of all its clients, and should
// not be.
func New(most int, from func(net.Addr) (peer string, bound bool)) *Limiter {
	return &Limiter{
		most: most, share: max(1, most/2), from: from, begun: time.Now(),
		all: group{conns: make(map[*conn]struct{})}, peers: make(map[string]*group), freed: make(chan struct{}),
	}
}

// Listen returns inner with the limit. It must be served by the server whose
// ConnState is that of the limiter.
func (l *Limiter) Listen(inner net.Listener) net.Listener {
	return &listener{Listener: inner, limit: l, closed: make(chan struct{})}
}

// ConnState is for [http.Server.ConnState], which calls it twice for each request.
// A connection of HTTP/2 is idle when it has no stream.
func (l *Limiter) ConnState(given net.Conn, state http.ConnState) {
	c := own(given)
	switch {
	case c == nil || c.limit != l:
	case state == http.StateIdle:
		c.idle.Store(l.now())
		if l.waits.Load() {
			l.mu.Lock()
			l.wake()
			l.mu.Unlock()
		}
	case state == http.StateActive:
		c.idle.Store(0)
	}
}

// own is the connection of ours below what a server calls one; nil if there is
// none.
func own(given net.Conn) *conn {
	for {
		if c, ok := given.(*conn); ok {
			return c
		}
		outer, ok := given.(interface{ NetConn() net.Conn }) // of TLS
		if !ok {
			return nil
		}
		given = outer.NetConn()
	}
}

// now is the time since the limiter was made, in nanoseconds, and never 0.
func (l *Limiter) now() int64 { return int64(time.Since(l.begun)) + 1 }

// wake has those that wait for a place look again.
func (l *Limiter) wake() {
	close(l.freed)
	l.freed = make(chan struct{})
	l.waits.Store(false)
}

// add finds a place for a new connection. It returns nil if the connection is to be
// closed: its peer has its share, and a request on each. If there may be a place
// later, it returns when to look again.
func (l *Limiter) add(inner net.Conn) (added *conn, later <-chan struct{}) {
	name, bound := l.from(inner.RemoteAddr())
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.peers[name]
	if bound && p != nil && len(p.conns) >= l.share && !l.evict(p) {
		return nil, nil
	}
	if len(l.all.conns) >= l.most && !l.evict(&l.all) {
		// A connection that becomes idle from here on sees that another waits; one
		// that became idle before is found now.
		l.waits.Store(true)
		if !l.evict(&l.all) {
			return nil, l.freed
		}
	}
	if p = l.peers[name]; p == nil {
		p = &group{name: name, conns: make(map[*conn]struct{})}
		l.peers[name] = p
	}
	c := &conn{Conn: inner, limit: l, from: p}
	c.idle.Store(l.now())
	l.all.conns[c], p.conns[c] = struct{}{}, struct{}{}
	return c, nil
}

// evict closes the longest idle connection of a group, if there is one.
func (l *Limiter) evict(g *group) bool {
	c := g.idlest(l.now())
	if c == nil {
		return false
	}
	l.remove(c)
	_ = c.Conn.Close() // the server notices by its next read
	return true
}

// remove takes c out of the count, if it is still in it.
func (l *Limiter) remove(c *conn) {
	if _, counted := l.all.conns[c]; !counted {
		return
	}
	delete(l.all.conns, c)
	delete(c.from.conns, c)
	if len(c.from.conns) == 0 {
		delete(l.peers, c.from.name)
	}
	if l.waits.Load() {
		l.wake()
	}
}

// A conn is an open connection.
type conn struct {
	net.Conn
	limit  *Limiter
	from   *group
	idle   atomic.Int64 // since when; 0 while there is a request
	readAt atomic.Int64 // when something came in
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.readAt.Store(c.limit.now())
	}
	return n, err
}

// Close closes the connection and gives its place back.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.limit.mu.Lock()
	defer c.limit.mu.Unlock()
	c.limit.remove(c)
	return err
}

type listener struct {
	net.Listener
	limit  *Limiter
	once   sync.Once
	closed chan struct{}
}

// Accept returns the next connection for which there is a place.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, later := l.limit.add(inner)
		for later != nil {
			select {
			case <-later:
				c, later = l.limit.add(inner)
			case <-l.closed:
				_ = inner.Close()
				return nil, net.ErrClosed
			}
		}
		if c != nil {
			return c, nil
		}
		_ = inner.Close()
	}
}

// Close ends Accept, also while a connection waits for a place.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
