//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv/migrated"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestHungDatabaseTakesOneLimit: a server that holds its connections open and
// says nothing is given up on when the one limit of this package is over, not
// when the longer one of the driver is.
func TestHungDatabaseTakesOneLimit(t *testing.T) {
	t.Parallel()
	dsn, hang := throughRelay(t, migrated.MySQL(t))
	o := onServer(t, dsn)
	w := newWorld(t, o)
	user := w.user(t, "ada")
	s := w.begin(t, user)
	settings := &sqlstore.Settings{DB: w.DB}
	hang()
	questions := map[string]func(context.Context) error{
		"ByUsername": func(ctx context.Context) error { _, err := w.users.ByUsername(ctx, "ada"); return err },
		"ByID":       func(ctx context.Context) error { _, err := w.users.ByID(ctx, user); return err },
		"Create":     func(ctx context.Context) error { return w.users.Create(ctx, account.User{ID: 1, Username: "bob"}) },
		"Rehash": func(ctx context.Context) error {
			return w.users.Rehash(ctx, user, 1, account.NewPHC("$again"))
		},
		"List":          func(ctx context.Context) error { _, err := w.users.List(ctx, 0, 10); return err },
		"HasAdmin":      func(ctx context.Context) error { _, err := w.users.HasAdmin(ctx); return err },
		"Get":           func(ctx context.Context) error { _, err := w.sessions.Get(ctx, s.ID, session.Hash{}); return err },
		"LoadPolicy":    func(ctx context.Context) error { _, err := settings.LoadPolicy(ctx); return err },
		"PolicyHistory": func(ctx context.Context) error { _, err := settings.PolicyHistory(ctx, 0, 10); return err },
		"Audit": func(ctx context.Context) error {
			_, err := (&sqlstore.Audit{DB: w.DB}).List(ctx, audit.Filter{Limit: 10})
			return err
		},
		"CacheKey": func(ctx context.Context) error { _, err := settings.CacheKey(ctx); return err },
	}
	for name, change := range w.changes(user, s) {
		questions[name] = change
	}
	var all sync.WaitGroup
	for name, ask := range questions {
		all.Go(func() {
			if err := ask(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, want the end of its own limit", name, err)
			}
		})
	}
	all.Wait()
}

// throughRelay is the same database through a relay, and what makes the relay
// stop passing anything on. Its connections stay open.
func throughRelay(t *testing.T, dsn string) (relayed string, hang func()) {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hung := make(chan struct{})
	server := c.Addr
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	keep := func(conn net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, conn)
	}
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			keep(in)
			out, err := new(net.Dialer).DialContext(context.WithoutCancel(t.Context()), "tcp", server)
			if err != nil {
				return
			}
			keep(out)
			running.Go(func() { _, _ = io.Copy(unlessHung{out, hung}, in) })
			running.Go(func() { _, _ = io.Copy(unlessHung{in, hung}, out) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	c.Addr = l.Addr().String()
	return c.FormatDSN(), sync.OnceFunc(func() { close(hung) })
}

// An unlessHung swallows what is written once hung is closed.
type unlessHung struct {
	io.Writer
	hung chan struct{}
}

func (u unlessHung) Write(p []byte) (int, error) {
	select {
	case <-u.hung:
		return len(p), nil
	default:
		return u.Writer.Write(p)
	}
}
