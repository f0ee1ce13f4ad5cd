//go:build unix

package zkworkertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/idworkertest"
	"github.com/flakepass/flakepass/idworker/zkworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

func TestLenderKeepsThePromise(t *testing.T) {
	idworkertest.TestLender(t, func(t *testing.T) func() idworker.Lender {
		addr, root := testenv.ZooKeeper(t)
		return func() idworker.Lender {
			c := connect(t, addr)
			return dying{&zkworker.Lender{Client: c, Root: root, Holder: "host:1"}, c.Close}
		}
	})
}

// TestOneNumberIsLentOnce: not while its owner lives, and again once it was given
// back.
func TestOneNumberIsLentOnce(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	first := &zkworker.Lender{Client: connect(t, addr), Root: root, Numbers: 1}
	second := &zkworker.Lender{Client: connect(t, addr), Root: root, Numbers: 1}
	g := acquire(t, first)
	if _, err := second.Acquire(t.Context(), time.Second); !errors.Is(err, idworker.ErrNoNumber) {
		t.Errorf("a number whose owner lives: %v, want ErrNoNumber", err)
	}
	if err := first.Release(t.Context(), g, g.From); err != nil {
		t.Fatal(err)
	}
	if next := acquire(t, second); next.Number != 0 || next.From.Before(g.From) {
		t.Errorf("after %+v was given back: %+v", g, next)
	}
}

// TestReleaseStaysBehindTheOneBefore: whatever an owner says it has used, what
// was lent before its range is not lent again.
func TestReleaseStaysBehindTheOneBefore(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	var ledger idworkertest.Ledger
	for range 3 {
		c := connect(t, addr)
		l := &zkworker.Lender{Client: c, Root: root, Numbers: 1}
		g, err := l.Acquire(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		ledger.Lent(g)
		if err := c.Close(); err != nil { // killed
			t.Fatal(err)
		}
		l.Client = connect(t, addr)
		g = acquire(t, l)
		if err := l.Release(t.Context(), g, g.From.Add(-24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		ledger.Lent(g)
		ledger.Kept(g, g.From.UnixMilli())
	}
	if err := ledger.Overlap(); err != nil {
		t.Error(err)
	}
}

func TestOrderOfPreference(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	acquire(t, &zkworker.Lender{Client: connect(t, addr), Root: root}) // makes the folders, and owns number 0
	conn := plain(t, addr)
	future := time.Now().Add(time.Hour).UnixMilli()
	for n, data := range map[int]string{
		1: `{"fence_ms":2000,"token":"dead","holder":""}`,
		2: `{"fence_ms":1000,"token":"","holder":""}`,
		3: fmt.Sprintf(`{"fence_ms":%d,"token":"dead","holder":""}`, future),
		4: fmt.Sprintf(`{"fence_ms":%d,"token":"T","holder":"","key":"offline"}`, future-1000),
		5: `{"fence_ms":3000,"token":"T","holder":"","key":"passed"}`,
		6: `{"fence_ms":0}`,
	} {
		if _, err := conn.Create(fmt.Sprintf("%s/numbers/%04d", root, n), []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	l := &zkworker.Lender{Client: connect(t, addr), Root: root, Numbers: 8}
	for _, want := range []int{2, 1, 5, 7, 3} {
		if g := acquire(t, l); g.Number != want {
			t.Errorf("got number %d, want %d", g.Number, want)
		} else if want == 3 && g.From.UnixMilli() != future {
			t.Errorf("the range begins at %v, want the fence", g.From)
		}
	}
	_, err := l.Acquire(t.Context(), time.Second)
	if !errors.Is(err, idworker.ErrNoNumber) || !errors.Is(err, zkworker.ErrDamaged) {
		t.Errorf("with only a damaged and a reserved number left: %v, want ErrNoNumber and ErrDamaged", err)
	}
}

// TestOwnerGoesOnAfterItsSessionExpired: the number is lent to another owner
// while its owner, cut off, mints to the end of its range. Nothing comes twice.
func TestOwnerGoesOnAfterItsSessionExpired(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	relay := newRelay(t, addr)
	old, err := idworker.Open(t.Context(), &zkworker.Lender{Client: connectBriefly(t, relay.addr), Root: root, Numbers: 1}, idworker.Options{Window: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	all := seen{}
	for range 20 { // the window grows
		id, err := old.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all.add(t, id)
	}
	relay.Cut(true)
	successor := &zkworker.Lender{Client: connect(t, addr), Root: root, Numbers: 1}
	var w *idworker.Worker
	testenv.Eventually(t, patience, func() bool {
		w, err = idworker.Open(t.Context(), successor, idworker.Options{})
		return err == nil
	}, "the number is free when the session has expired")
	for range 5000 {
		id, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all.add(t, id)
	}
	_ = mint(t, old, all)
	relay.Cut(false)
	// Back again, the old owner learns that its number is lost, and there is no other.
	testenv.Eventually(t, patience, func() bool {
		_, err := old.Next(t.Context())
		return errors.Is(err, idworker.ErrNoNumber)
	}, "the old owner learns it")
	if err := old.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestClaimIsMadeAgain: a session that expired is no reason to lose a number
// that is free.
func TestClaimIsMadeAgain(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	relay := newRelay(t, addr)
	l := &zkworker.Lender{Client: connectBriefly(t, relay.addr), Root: root}
	g := acquire(t, l)
	conn := plain(t, addr)
	claimed := func() bool {
		ok, _, err := conn.Exists(root + "/claims/0000")
		return ok && err == nil
	}
	if !claimed() {
		t.Fatal("no claim")
	}
	relay.Cut(true)
	testenv.Eventually(t, patience, func() bool { return !claimed() }, "the claim goes with the session")
	relay.Cut(false)
	testenv.Eventually(t, patience, func() bool {
		longer, err := l.Extend(t.Context(), g, g.Until)
		return err == nil && longer.Number == g.Number
	}, "the number is still ours")
	if !claimed() {
		t.Error("the number is extended, and any process may take it")
	}
}

// TestServerKilled: what was lent before kill -9 is known after it, and the
// Lender finds the server again.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	z := testenv.OwnZooKeeper(t)
	var ledger idworkertest.Ledger
	l := &zkworker.Lender{Client: connect(t, z.Addr), Root: "/a/deep/path", Numbers: 1}
	g := acquire(t, l)
	for range 2 {
		ledger.Lent(g)
		z.Kill()
		if _, err := l.Extend(t.Context(), g, g.Until.Add(time.Minute)); err == nil || errors.Is(err, idworker.ErrLost) {
			t.Errorf("extended while ZooKeeper is down: %v", err)
		}
		z.Start()
		testenv.Eventually(t, patience, func() bool {
			longer, err := l.Extend(t.Context(), g, g.Until.Add(time.Minute))
			if err == nil {
				g = longer
				ledger.Lent(g)
			}
			return err == nil
		}, "the range is extended after the restart")
	}
	other := &zkworker.Lender{Client: connect(t, z.Addr), Root: "/a/deep/path"}
	ledger.Lent(acquire(t, other))
	if err := ledger.Overlap(); err != nil {
		t.Error(err)
	}
}

// TestServerPaused: a call ends with its context, and Close does not wait for
// the server. When it goes on, what was asked for may happen, and is settled.
func TestServerPaused(t *testing.T) {
	t.Parallel()
	z := testenv.OwnZooKeeper(t)
	l := &zkworker.Lender{Client: &zkworker.Client{Servers: []string{z.Addr}}, Root: "/w", Numbers: 2}
	defer l.Client.Close()
	first := acquire(t, l)
	z.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := l.Extend(ctx, first, first.Until.Add(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("extend with a server that stands still: %v, want the end of the context", err)
	}
	gone := &zkworker.Client{Servers: []string{z.Addr}, Session: time.Hour} // Close does not wait for that
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := (&zkworker.Lender{Client: gone, Root: "/w"}).Acquire(ctx, time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a new connection to a server that stands still: %v, want the end of the context", err)
	}
	if err := gone.Close(); err != nil {
		t.Error(err)
	}
	if _, err := (&zkworker.Lender{Client: gone, Root: "/w"}).Acquire(t.Context(), time.Second); !errors.Is(err, zkworker.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
	z.Resume()
	longer, err := l.Extend(t.Context(), first, first.Until.Add(time.Second))
	if err != nil || longer.Until.Before(first.Until.Add(time.Second)) {
		t.Errorf("when the server goes on: %+v, %v", longer, err)
	}
}

// TestUserAndPassword: what one user made, another may not touch.
func TestUserAndPassword(t *testing.T) {
	addr, root := testenv.ZooKeeper(t)
	as := func(user, password string) *zkworker.Lender {
		c := connect(t, addr)
		c.User, c.Password = user, password
		return &zkworker.Lender{Client: c, Root: root}
	}
	acquire(t, as("app", "right"))
	acquire(t, as("app", "right"))
	for _, l := range []*zkworker.Lender{as("app", "planted"), as("", "")} {
		_, err := l.Acquire(t.Context(), time.Second)
		if !errors.Is(err, zk.ErrNoAuth) || strings.Contains(err.Error(), "planted") {
			t.Errorf("with another password: %v, want ErrNoAuth, without the password", err)
		}
	}
}

func TestImpossibleRootIsRefused(t *testing.T) {
	addr, _ := testenv.ZooKeeper(t)
	for _, root := range []string{"", "/", "w", "/w/", "/w//x", "/w/../x"} {
		if g, err := (&zkworker.Lender{Client: connect(t, addr), Root: root}).Acquire(t.Context(), time.Second); err == nil {
			t.Errorf("%q: lent %+v", root, g)
		}
	}
}

// plain is a connection of the library's, to look and to interfere.
func plain(t testing.TB, addr string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events { // until its goroutines have ended
		}
	})
	return conn
}

type silent struct{}

func (silent) Printf(string, ...any) {}
