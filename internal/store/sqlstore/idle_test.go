//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
	"github.com/flakepass/flakepass/internal/proof/testenv/migrated"
)

// TestForgottenConnectionsAreLeftTogether: when one connection turned out to
// lead nowhere, no later question has to find that out for each of the others.
func TestForgottenConnectionsAreLeftTogether(t *testing.T) {
	dsn := migrated.MySQL(t)
	before, rest, _ := strings.Cut(dsn, "(")
	addr, after, _ := strings.Cut(rest, ")")
	p := faultproxy.New(t, addr)
	w := newWorld(t, onServer(t, before+"("+p.Addr+")"+after))

	var used []*sql.Conn
	for range 8 {
		conn, err := w.SQL().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		used = append(used, conn)
	}
	for _, conn := range used {
		_ = conn.Close() // idle from now on
	}
	if idle := w.SQL().Stats().Idle; idle < 8 {
		t.Fatalf("%d idle connections, want 8", idle)
	}
	p.Forget()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := w.sessions.News(ctx, time.Time{}, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("over a forgotten connection: %v, want the end of the time", err)
	}
	w.Leave()
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := w.sessions.News(ctx, time.Time{}, time.Minute); err != nil {
		t.Errorf("the next question: %v", err)
	}
	if w.SQL().Stats().Idle == 0 {
		t.Error("no connection is kept any more")
	}
}

// TestConnectionsOfAServerThatIsLeftAreNotUsed: neither those that are idle, nor one that
// was in use and becomes idle.
func TestConnectionsOfAServerThatIsLeftAreNotUsed(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		var used []*sql.Conn
		before := map[int64]bool{}
		id := func(conn *sql.Conn) (n int64) {
			must(t, conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&n))
			return n
		}
		for range 4 {
			conn, err := w.SQL().Conn(t.Context())
			must(t, err)
			used, before[id(conn)] = append(used, conn), true
		}
		for _, conn := range used[1:] {
			must(t, conn.Close())
		}
		w.LeaveServer()
		must(t, used[0].Close())
		for range 4 {
			conn, err := w.SQL().Conn(t.Context())
			must(t, err)
			if n := id(conn); before[n] {
				t.Errorf("connection %d is used again", n)
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	})
}
