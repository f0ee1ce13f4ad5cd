//go:build unix

// Package faultproxy stands between a client and a server and breaks what lies
// between them as networks do: for tests.
//
// What is sent over a cut link is not lost but late: it arrives when the link
// is healed, as with TCP, which sends again what was not acknowledged. So a
// statement can reach its database long after the one who sent it has given up.
package faultproxy

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// A Direction is one of two, or both.
type Direction uint8

// The directions.
const (
	Requests Direction = 1 << iota // from the client to the server
	Replies                        // from the server to the client
	Both     = Requests | Replies
)

// A Proxy is the link from clients to one server. Its methods are safe for
// concurrent use.
type Proxy struct {
	// Addr is where clients connect to, as host:port.
	Addr string

	to       string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed at each change of what follows
	over    bool
	cut     Direction
	delay   time.Duration
	refuse  bool
	held    matcher // such requests wait
	late    matcher // replies to such requests wait
	lost    matcher // replies to such requests are lost
	stopped matcher // such requests are lost
	links   map[*link]struct{}
	waiting int // links on which a late reply is due
	most    int // the largest that waiting ever was
	losses  int
}

type matcher func(request []byte) bool

// A link is one connection through the proxy.
type link struct {
	client, server *net.TCPConn
	dead           bool // for ever: nothing passes, and neither end learns it
	held           bool // such a request has come
	late, doomed   bool // such a request has passed
}

// Matching matches requests that hold all parts.
func Matching(parts ...string) func([]byte) bool {
	return func(request []byte) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !bytes.Contains(request, []byte(part)) })
	}
}

// New starts a proxy in front of the server at that address. It ends with the
// test.
func New(t testing.TB, to string) *Proxy {
	t.Helper()
	p, err := Open(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Open is New for a program that is no test; Close ends the proxy.
func Open(to string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	p := &Proxy{
		Addr: listener.Addr().String(), to: to, listener: listener,
		changed: make(chan struct{}), links: make(map[*link]struct{}),
	}
	p.running.Go(p.accept)
	return p, nil
}

// Close resets all connections, takes no more, and returns when none is left.
func (p *Proxy) Close() {
	p.change(func() { p.over = true })
	_ = p.listener.Close()
	p.Reset()
	p.running.Wait()
}

// change makes a change, and wakes those that wait for one.
func (p *Proxy) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// Cut holds back what is sent in that direction until Heal. New connections
// are made, and held too.
func (p *Proxy) Cut(d Direction) { p.change(func() { p.cut |= d }) }

// Delay holds back everything for that long, each way, until Heal.
func (p *Proxy) Delay(d time.Duration) { p.change(func() { p.delay = d }) }

// Refuse resets all connections, and new ones as they come, until Heal.
func (p *Proxy) Refuse() {
	p.change(func() { p.refuse = true })
	p.Reset()
}

// Reset resets all connections, once: both ends see an error.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// Forget makes the present connections go nowhere, for ever, without notice to
// either end, as a firewall does that has forgotten them. New ones work. Once an
// end has closed its connection, both are closed.
func (p *Proxy) Forget() {
	p.change(func() {
		for l := range p.links {
			l.dead = true
		}
	})
}

// HoldRequests holds back requests that match, and what follows them on their
// connections, until Heal: a commit that comes late.
func (p *Proxy) HoldRequests(matching func(request []byte) bool) {
	p.change(func() { p.held = matching })
}

// HoldReplies delivers requests that match and holds back everything that
// comes on their connections from then on, until Heal.
func (p *Proxy) HoldReplies(to func(request []byte) bool) {
	p.change(func() { p.late = to })
}

// LoseReplies delivers requests that match, waits until the server has
// replied, and resets the connection instead of delivering that, until Heal.
func (p *Proxy) LoseReplies(to func(request []byte) bool) {
	p.change(func() { p.lost = to })
}

// LoseRequests resets the connection of each request that matches instead of
// delivering it, until Heal.
func (p *Proxy) LoseRequests(matching func(request []byte) bool) {
	p.change(func() { p.stopped = matching })
}

// Waiting is the number of connections on which HoldReplies holds back a reply
// now, and the most that there ever were at a time.
func (p *Proxy) Waiting() (now, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting, p.most
}

// Lost is how many requests and replies LoseRequests and LoseReplies have lost.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.losses
}

// Heal ends whatever was done to the link. What Forget made go nowhere stays
// so.
func (p *Proxy) Heal() {
	p.change(func() {
		p.cut, p.delay, p.refuse, p.held, p.late, p.lost, p.stopped = 0, 0, false, nil, nil, nil, nil
		for l := range p.links {
			l.held, l.late, l.doomed = false, false, false
		}
		p.waiting = 0
	})
}
