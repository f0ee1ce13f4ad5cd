//go:build unix

package faultproxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

const patience = 30 * time.Second

// echo is a server that answers each line with itself, and reports it on arrived
// first.
func echo(t *testing.T) (p *faultproxy.Proxy, arrived chan string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	arrived = make(chan string, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					arrived <- lines.Text()
					if _, err := io.WriteString(conn, lines.Text()+"\n"); err != nil {
						return
					}
				}
			}()
		}
	}()
	return faultproxy.New(t, l.Addr().String()), arrived
}

// A peer is a client.
type peer struct {
	net.Conn
	t     *testing.T
	lines *bufio.Reader
}

func dial(t *testing.T, p *faultproxy.Proxy) *peer {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &peer{conn, t, bufio.NewReader(conn)}
}

func (c *peer) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next line, waiting at most that long.
func (c *peer) next(atMost time.Duration) (string, error) {
	_ = c.SetReadDeadline(time.Now().Add(atMost))
	line, err := c.lines.ReadString('\n')
	return line, err
}

func (c *peer) wants(line string) {
	c.t.Helper()
	if got, err := c.next(patience); got != line+"\n" {
		c.t.Fatalf("received %q, %v; want %q", got, err, line)
	}
}

// silent fails the test if anything comes, an end included.
func (c *peer) silent() {
	c.t.Helper()
	if got, err := c.next(50 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("received %q, %v; want nothing", got, err)
	}
}

func received(t *testing.T, arrived <-chan string, want string) {
	t.Helper()
	select {
	case got := <-arrived:
		if got != want {
			t.Fatalf("the server received %q, want %q", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("the server did not receive %q", want)
	}
}

// TestCutIsLateAndLosesNothing: which side receives depends on the direction, and
// what was held back comes when the link is whole again, also from a client who
// has gone.
func TestCutIsLateAndLosesNothing(t *testing.T) {
	p, arrived := echo(t)
	c := dial(t, p)
	c.say("one")
	received(t, arrived, "one")
	c.wants("one")

	p.Cut(faultproxy.Replies)
	c.say("two")
	received(t, arrived, "two")
	c.silent()
	p.Heal()
	c.wants("two")

	p.Cut(faultproxy.Requests)
	c.say("three")
	gone := dial(t, p)
	gone.say("from beyond")
	_ = gone.Close()
	c.silent()
	if len(arrived) > 0 {
		t.Fatalf("the server received %q over a cut", <-arrived)
	}
	p.Heal()
	got := map[string]bool{<-arrived: true, <-arrived: true}
	if !got["three"] || !got["from beyond"] {
		t.Errorf("the server received %v", got)
	}
	c.wants("three")
}

func TestLostReplyWasMadeAndIsReset(t *testing.T) {
	p, arrived := echo(t)
	c, other := dial(t, p), dial(t, p)
	p.LoseReplies(faultproxy.Matching("COM", "MIT"))
	other.say("select")
	other.wants("select")
	received(t, arrived, "select")
	c.say("COMMIT")
	received(t, arrived, "COMMIT")
	if got, err := c.next(patience); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("received %q, %v; want a reset", got, err)
	}
	if p.Lost() != 1 {
		t.Errorf("%d replies lost, want 1", p.Lost())
	}
}

func TestLostRequestIsResetAndNotReceived(t *testing.T) {
	p, arrived := echo(t)
	c := dial(t, p)
	p.LoseRequests(faultproxy.Matching("COMMIT"))
	c.say("select")
	c.wants("select")
	received(t, arrived, "select")
	c.say("COMMIT")
	if got, err := c.next(patience); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("received %q, %v; want a reset", got, err)
	}
	if p.Lost() != 1 || len(arrived) != 0 {
		t.Errorf("%d requests lost, want 1; the server received %d", p.Lost(), len(arrived))
	}
}

func TestHeldRequestComesLateAndSoDoesWhatFollowsIt(t *testing.T) {
	p, arrived := echo(t)
	p.HoldRequests(faultproxy.Matching("COMMIT"))
	one, other := dial(t, p), dial(t, p)
	one.say("COMMIT")
	one.silent()
	one.say("more")
	one.silent()
	other.say("ask")
	other.wants("ask")
	received(t, arrived, "ask")
	p.Heal()
	one.wants("COMMIT")
	one.wants("more")
}

func TestHeldRepliesAreCountedWhileTheirClientsWait(t *testing.T) {
	p, arrived := echo(t)
	p.HoldReplies(faultproxy.Matching("read"))
	first, second, third := dial(t, p), dial(t, p), dial(t, p)
	for _, c := range []*peer{first, second} {
		c.say("read")
		received(t, arrived, "read")
		c.silent()
	}
	third.say("write")
	third.wants("write")
	if now, most := p.Waiting(); now != 2 || most != 2 {
		t.Errorf("%d wait, %d at most; want 2 and 2", now, most)
	}
	_ = second.Close()
	testenv.Eventually(t, patience, func() bool { now, _ := p.Waiting(); return now == 1 }, "who has gone does not wait")
	p.Heal()
	first.wants("read")
	if now, most := p.Waiting(); now != 0 || most != 2 {
		t.Errorf("%d wait, %d at most; want 0 and 2", now, most)
	}
}

func TestForgottenConnectionIsSilentForEver(t *testing.T) {
	p, arrived := echo(t)
	old := dial(t, p)
	old.say("one")
	received(t, arrived, "one")
	old.wants("one")
	p.Forget()
	p.Heal()
	old.say("two")
	old.silent()
	c := dial(t, p)
	c.say("three")
	received(t, arrived, "three")
	c.wants("three")
}

func TestRefusedUntilHealed(t *testing.T) {
	p, _ := echo(t)
	old := dial(t, p)
	old.say("one")
	old.wants("one")
	p.Refuse()
	if got, err := old.next(patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("received %q, %v; want an end", got, err)
	}
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Addr); err == nil { // it may be reset that soon
		c := &peer{conn, t, bufio.NewReader(conn)}
		if got, err := c.next(patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("received %q, %v; want an end", got, err)
		}
		_ = conn.Close()
	}
	p.Heal()
	c := dial(t, p)
	c.say("two")
	c.wants("two")
}

func TestDelayIsEachWay(t *testing.T) {
	p, _ := echo(t)
	c := dial(t, p)
	const d = 30 * time.Millisecond
	p.Delay(d)
	start := time.Now()
	c.say("one")
	c.wants("one")
	if took := time.Since(start); took < 2*d {
		t.Errorf("there and back took %v, want at least %v", took, 2*d)
	}
}
