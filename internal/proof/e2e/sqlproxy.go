package e2e

import (
	"context"
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
		var reply atomic.Int32
		running.Go(func() { p.statements(server, client, &reply) })
		running.Go(func() { p.replies(client, server, &reply) })
	}
}

// statements passes on the packets of the client: three bytes of length, one of
// sequence, and, in a packet that begins something, the command.
func (p *sqlProxy) statements(server, client net.Conn, reply *atomic.Int32) {
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
		const query = 3
		if head[3] == 0 && length > 1 && packet[4] == query {
			what := (*p.judge.Load())(string(packet[5:]))
			if what == NeverSent {
				return
			}
			reply.Store(int32(what))
		}
		if _, err := server.Write(packet); err != nil {
			return
		}
	}
}

// replies passes on what the server says, when and as long as it may.
func (p *sqlProxy) replies(client, server net.Conn, reply *atomic.Int32) {
	defer server.Close()
	defer client.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		switch Fate(reply.Load()) {
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
