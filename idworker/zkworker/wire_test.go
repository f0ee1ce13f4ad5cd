package zkworker

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// A wire is one connection, as a server of ZooKeeper sees it.
type wire struct{ *net.TCPConn }

func (w wire) read() (b []byte, err error) {
	var size [4]byte
	if _, err := io.ReadFull(w, size[:]); err != nil {
		return nil, err
	}
	b = make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(w, b)
	return b, err
}

func (w wire) write(b []byte) {
	_, _ = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)) // the client may have left
}

// greet answers the first packet. Session 0 says that the session has expired.
func (w wire) greet(session int64) error {
	if _, err := w.read(); err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 4), 10_000) // how long the session lasts, in ms
	b = binary.BigEndian.AppendUint64(b, uint64(session))
	w.write(append(binary.BigEndian.AppendUint32(b, 16), make([]byte, 16)...))
	return nil
}

// answer takes every user and the end of a session, and has no node.
func (w wire) answer() bool {
	b, err := w.read()
	if err != nil {
		return false
	}
	const auth, end, noNode = 100, -11, -101
	answer := append(b[:4:4], make([]byte, 12)...) // to which request, zxid, error
	if op := int32(binary.BigEndian.Uint32(b[4:])); op != auth && op != end {
		no := int32(noNode)
		binary.BigEndian.PutUint32(answer[12:], uint32(no))
	}
	w.write(answer)
	return true
}

func (w wire) serve() {
	for w.answer() {
	}
}

// serveZooKeeper hands each connection to f, one after the other, and returns the address.
func serveZooKeeper(t *testing.T, f func(n int, w wire)) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			tcp, ok := conn.(*net.TCPConn)
			if !ok {
				t.Errorf("accepted a %T", conn)
				return
			}
			f(n, wire{tcp})
		}
	}()
	return l.Addr().String()
}

// get asks for a node that is not there, until the server says so.
func get(t *testing.T, c *Client) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		_, err := ask(ctx, c, func(conn *zk.Conn) (struct{}, error) {
			_, _, err := conn.Get("/a")
			return struct{}{}, err
		})
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil && !lost(err) && !errors.Is(err, zk.ErrNoServer) {
			return err
		}
	}
}

// TestConnectionThatBreaksWhileTheUserIsPresentedAgain: the library waited for ever for a place for
// its second error about one request. No call was answered any more, and Close did not return.
func TestConnectionThatBreaksWhileTheUserIsPresentedAgain(t *testing.T) {
	const broken = 50
	at := serveZooKeeper(t, func(n int, w wire) {
		if w.greet(7) != nil {
			return
		}
		switch {
		case n == 0:
			w.answer() // the user; not the question behind it
			_, _ = w.read()
		case n <= broken:
			_ = w.SetLinger(0) // a reset: what the client writes fails
		default:
			go w.serve()
			return
		}
		_ = w.Close()
	})
	c := &Client{Servers: []string{at}, User: "user", Password: "password"}
	if err := get(t, c); err != nil {
		t.Fatalf("a call after %d connections that broke: %v", broken, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestConnectionOfAnExpiredSessionIsClosed: the library does not close it, and each took a file
// descriptor for as long as the process lived.
func TestConnectionOfAnExpiredSessionIsClosed(t *testing.T) {
	left := make(chan struct{})
	at := serveZooKeeper(t, func(n int, w wire) {
		if n > 0 {
			if w.greet(7) == nil {
				go w.serve()
			}
			return
		}
		_ = w.greet(0)
		go func() {
			_, _ = w.read()
			close(left)
		}()
	})
	c := &Client{Servers: []string{at}}
	if err := get(t, c); err != nil {
		t.Fatal(err)
	}
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("the connection is still open in the next session")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
