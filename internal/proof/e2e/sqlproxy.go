package e2e

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// A Fate is what becomes of a statement on its way to the database.
type Fate int

// What may become of a statement.
const (
	Passes    Fate = iota
	NeverSent      // the connection is cut before the database has it
	NoReply        // the database answers, and the connection is cut before the answer is there
	LateReply      // the database answers, and the answer is there after Open
)

// A sqlProxy stands between an instance and MySQL, reads what statements pass and
// decides what becomes of each.
type sqlProxy struct {
	target string
	l      net.Listener
	judge  atomic.Pointer[func(statement string) Fate]
	open   chan struct{} // closed by Open
	once   sync.Once
}

// Between puts a proxy before the deployment's database and returns it, and the
// variable with which an instance goes through it.
func Between(t testing.TB, d *Deployment) (p *sqlProxy, through []string) {
	t.Helper()
	c, err := mysql.ParseDSN(d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p = &sqlProxy{target: c.Addr, l: l, open: make(chan struct{})}
	p.Pass()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { p.serve(ctx, &running) })
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		p.Open()
		running.Wait()
	})
	u := url.URL{Scheme: "mysql", User: url.UserPassword(c.User, c.Passwd), Host: l.Addr().String(), Path: "/" + c.DBName}
	return p, []string{"FLAKEPASS_DATABASE", u.String()}
}

// Decide has every statement from now on judged by f, which may wait. It is asked
// by many connections at the same time.
func (p *sqlProxy) Decide(f func(statement string) Fate) { p.judge.Store(&f) }

// Open lets late replies through.
func (p *sqlProxy) Open() { p.once.Do(func() { close(p.open) }) }

func (p *sqlProxy) Pass() { p.Decide(func(string) Fate { return Passes }) }

func (p *sqlProxy) serve(ctx context.Context, running *sync.WaitGroup) {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(ctx, "tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		context.AfterFunc(ctx, func() { _ = client.Close(); _ = server.Close() })
		l := &sqlLink{prepared: map[uint32]string{}}
		running.Go(func() { p.statements(server, client, l) })
		running.Go(func() { p.replies(client, server, l) })
	}
}

// A sqlLink is one connection through the proxy.
type sqlLink struct {
	reply atomic.Int32 // the Fate of what the server says next

	mu        sync.Mutex
	preparing string            // the text that is being prepared
	prepared  map[uint32]string // texts by the server's number of the statement
}

// asks is the statement that a packet of a client runs: a text, or one that was prepared.
func (l *sqlLink) asks(packet []byte) (statement string, ok bool) {
	const query, prepare, execute = 3, 22, 23
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case packet[3] != 0 || len(packet) < 6:
	case packet[4] == query:
		return string(packet[5:]), true
	case packet[4] == prepare:
		l.preparing = string(packet[5:])
	case packet[4] == execute && len(packet) >= 9:
		statement, ok = l.prepared[binary.LittleEndian.Uint32(packet[5:])]
		return statement, ok
	}
	return "", false
}

// says notes the number that the server gives to a statement which it has prepared.
func (l *sqlLink) says(packet []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.preparing != "" && len(packet) >= 9 && packet[4] == 0 {
		l.prepared[binary.LittleEndian.Uint32(packet[5:])] = l.preparing
	}
	l.preparing = ""
}

// statements passes on the packets of the client: three bytes of length, one of
// sequence, and, in a packet that begins something, the command.
func (p *sqlProxy) statements(server, client net.Conn, l *sqlLink) {
	defer server.Close()
	defer client.Close()
	head := make([]byte, 4)
	for {
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		length := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
		packet := make([]byte, 4+length)
		copy(packet, head)
		if _, err := io.ReadFull(client, packet[4:]); err != nil {
			return
		}
		if statement, ok := l.asks(packet); ok {
			what := (*p.judge.Load())(statement)
			if what == NeverSent {
				return
			}
			l.reply.Store(int32(what))
		}
		if _, err := server.Write(packet); err != nil {
			return
		}
	}
}

// replies passes on what the server says, when and as long as it may.
func (p *sqlProxy) replies(client, server net.Conn, l *sqlLink) {
	defer server.Close()
	defer client.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		l.says(buffer[:n])
		switch Fate(l.reply.Load()) {
		case NoReply:
			return // whatever it was about has happened
		case LateReply:
			<-p.open
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// Ends reports whether a statement ends a login: it stamps the floor.
func Ends(statement string) bool {
	return strings.HasPrefix(statement, "UPDATE users") && strings.Contains(statement, "ended_reason")
}
