//go:build unix

package faultproxy

import (
	"net"
	"time"
)

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		if client, ok := conn.(*net.TCPConn); ok {
			p.running.Go(func() { p.connect(client) })
		}
	}
}

// connect joins a client to the server until both are done.
func (p *Proxy) connect(client *net.TCPConn) {
	l := &link{client: client}
	p.mu.Lock()
	refused := p.refuse || p.over
	p.mu.Unlock()
	if !refused {
		server, err := net.DialTimeout("tcp", p.to, 10*time.Second) //nolint:noctx // bounded, and not cancelled
		if err == nil {
			l.server, _ = server.(*net.TCPConn)
		}
	}
	if l.server == nil {
		l.reset()
		return
	}
	p.change(func() {
		p.links[l] = struct{}{}
		if refused = p.refuse || p.over; refused {
			l.reset() // in the meantime
		}
	})
	replies := make(chan struct{})
	p.running.Go(func() { defer close(replies); p.pump(l, Replies) })
	p.pump(l, Requests)
	p.change(func() {
		if l.late { // the caller has given up
			l.late = false
			p.waiting--
		}
	})
	<-replies
	p.change(func() { delete(p.links, l) })
}

// pump carries bytes in one direction until that direction ends. The end
// itself, too, passes only when the link lets it.
func (p *Proxy) pump(l *link, d Direction) {
	from, to := l.client, l.server
	if d == Replies {
		from, to = l.server, l.client
	}
	chunk := make([]byte, 32<<10)
	for {
		n, err := from.Read(chunk)
		if n > 0 {
			if !p.pass(l, d, chunk[:n]) {
				l.reset()
				return
			}
			if _, werr := to.Write(chunk[:n]); werr != nil {
				l.reset()
				return
			}
		}
		if err != nil {
			if !p.pass(l, d, nil) || to.CloseWrite() != nil {
				l.reset()
			} else if d == Replies { // what was sent arrives before the end
				_ = l.client.Close()
				_ = l.server.Close()
			}
			return
		}
	}
}

// pass waits until the link lets these bytes through, and reports false if it
// never will.
func (p *Proxy) pass(l *link, d Direction, bytes []byte) bool {
	p.mu.Lock()
	if d == Requests {
		l.held = l.held || p.held != nil && p.held(bytes)
		if p.late != nil && p.late(bytes) && !l.late {
			l.late = true
			p.waiting++
			p.most = max(p.most, p.waiting)
		}
		l.doomed = l.doomed || p.lost != nil && p.lost(bytes)
		if p.stopped != nil && p.stopped(bytes) {
			p.losses++
			p.mu.Unlock()
			return false
		}
	}
	due := time.Now().Add(p.delay)
	for {
		held := l.dead || p.cut&d != 0 || d == Requests && l.held || d == Replies && l.late
		switch {
		case p.over, l.dead && bytes == nil, d == Replies && l.doomed && !l.dead:
			if !p.over && !l.dead && len(bytes) > 0 {
				p.losses++
			}
			p.mu.Unlock()
			return false
		case !held && !time.Now().Before(due):
			p.mu.Unlock()
			return true
		}
		changed := p.changed
		p.mu.Unlock()
		if held {
			<-changed
		} else {
			select {
			case <-changed:
			case <-time.After(time.Until(due)):
			}
		}
		p.mu.Lock()
		if p.delay == 0 {
			due = time.Time{}
		}
	}
}

// reset makes both ends see an error rather than an end.
func (l *link) reset() {
	for _, conn := range []*net.TCPConn{l.client, l.server} {
		if conn != nil {
			_ = conn.SetLinger(0)
			_ = conn.Close()
		}
	}
}
