//go:build unix

package zkworkertest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/zkworker"
)

// TestMain also finds goroutines that a Close left behind. A process of the test
// binary may be a life: see kill_test.go.
func TestMain(m *testing.M) {
	if os.Getenv(lifeEnv) != "" {
		if err := live(); err != nil {
			println(err.Error())
		}
		os.Exit(1) // a life ends by being killed
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what has to come.
const patience = 2 * time.Minute

// connect is a process' own connection. Its session ends ten seconds after it, so that a machine
// that stands still for a moment loses no number.
func connect(t testing.TB, addr string) *zkworker.Client { return connectFor(t, addr, 10*time.Second) }

// connectBriefly is connect for a session whose end a test waits for.
func connectBriefly(t testing.TB, addr string) *zkworker.Client {
	return connectFor(t, addr, time.Second)
}

func connectFor(t testing.TB, addr string, session time.Duration) *zkworker.Client {
	c := &zkworker.Client{Servers: []string{addr}, Session: session}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// dying is a Lender whose Close is the death of its process.
type dying struct {
	idworker.Lender
	die func() error
}

func (d dying) Close() error { return d.die() }

var _ io.Closer = dying{}

func acquire(t testing.TB, l idworker.Lender) idworker.Grant {
	t.Helper()
	g, err := l.Acquire(t.Context(), 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A relay passes a connection on to a server, until it is cut.
type relay struct {
	addr, to string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

func newRelay(t testing.TB, to string) *relay {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{addr: l.Addr().String(), to: to, conns: map[net.Conn]bool{}}
	r.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.wg.Go(func() { r.pass(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); r.Cut(true); r.wg.Wait() })
	return r
}

// Cut ends all connections and refuses others, or stops refusing.
func (r *relay) Cut(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
	for conn := range r.conns {
		_ = conn.Close()
	}
}

func (r *relay) pass(in net.Conn) {
	defer in.Close()
	var d net.Dialer
	out, err := d.DialContext(context.Background(), "tcp", r.to)
	if err != nil {
		return
	}
	defer out.Close()
	r.mu.Lock()
	if r.cut {
		r.mu.Unlock()
		return
	}
	r.conns[in], r.conns[out] = true, true
	r.mu.Unlock()
	r.wg.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
	_, _ = io.Copy(in, out)
	r.mu.Lock()
	delete(r.conns, in)
	delete(r.conns, out)
	r.mu.Unlock()
}

// seen fails the test if an ID comes twice.
type seen map[idworker.ID]bool

func (s seen) add(t testing.TB, ids ...idworker.ID) {
	t.Helper()
	for _, id := range ids {
		if s[id] {
			t.Fatalf("ID %s twice among %d", id, len(s))
		}
		s[id] = true
	}
}

// mint mints until the Worker says that its range is used up.
func mint(t testing.TB, w *idworker.Worker, all seen) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		id, err := w.Next(ctx)
		if err != nil {
			if !errors.Is(err, idworker.ErrNoGrant) {
				t.Fatalf("mint: %v", err)
			}
			return err
		}
		all.add(t, id)
	}
}
