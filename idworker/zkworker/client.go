package zkworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrClosed says that the [Client] or the [Keyed] was closed.
var ErrClosed = errors.New("zkworker: closed")

// defaultSession is how long a process may be silent before its claims go.
const defaultSession = 10 * time.Second

// A Client is a connection to ZooKeeper, which is made when it is first needed,
// and again by itself after it broke, its session has expired or is refused. Set
// the fields before use; a Client must not be copied afterwards.
//
// Every call ends with its context. What it had asked for may still happen.
type Client struct {
	// Servers are host:port; of an ensemble, some or all of it. Names are looked
	// up at each connection.
	Servers []string

	// User and Password, if set, are presented by ZooKeeper's digest scheme.
	// Nodes are then made for this user alone. The scheme sends both as they
	// are, and the connection is not encrypted.
	User, Password string

	// Session is how long ZooKeeper waits for a silent process before it ends its
	// session. The server keeps it between 2 and 20 of its ticks. Zero means
	// 10 s.
	Session time.Duration

	// Calm is for a ZooKeeper that has lost its data: so long after that is
	// noticed, no number is taken. It has to be longer than any Window, Lead and
	// difference of two clocks together. Zero means 10 s.
	Calm time.Duration

	// Log receives lost connections, one a minute of each kind; nil: they are not logged.
	Log *slog.Logger

	mu     sync.Mutex
	line   *line
	closed bool
	calls  sync.WaitGroup
	past   past
	logger *logger // of all connections; nil before the first
}

// A line is the library's connection, and what is needed to end it.
type line struct {
	conn   *zk.Conn
	events <-chan zk.Event // closed when the library's last goroutine ends
	cut    context.CancelFunc

	refused atomic.Pointer[time.Time] // since when servers refuse a session

	mu     sync.Mutex
	authed bool
}

// Close ends the connection and with it the session: claims are given back at
// once, if ZooKeeper can be reached, and otherwise when the session times out. It
// returns when no goroutine is left, after three seconds at most. Calls under
// way fail.
func (c *Client) Close() error {
	c.mu.Lock()
	line, closed := c.line, c.closed
	c.closed = true
	c.mu.Unlock()
	if line == nil || closed {
		return nil
	}
	line.end()
	c.calls.Wait()
	return nil
}

func (l *line) end() {
	l.conn.Close()
	l.cut()
	for range l.events { // until the library has closed it
	}
}

// ask runs f on the connection. It waits for it no longer than ctx; f goes on
// until the connection answers, breaks or is closed.
func ask[T any](ctx context.Context, c *Client, f func(*zk.Conn) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	c.mu.Lock()
	line, err := c.connect() //nolint:contextcheck // the connection outlives the call
	if err != nil {
		c.mu.Unlock()
		return none, err
	}
	answers := make(chan answer, 1)
	c.calls.Go(func() {
		var a answer
		if a.err = line.auth(c.User, c.Password); a.err == nil {
			a.value, a.err = f(line.conn)
		}
		answers <- a
	})
	c.mu.Unlock()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, fmt.Errorf("zookeeper does not answer: %w", ctx.Err())
	}
}

// connect returns the connection, which may be down. It starts one the first
// time, and in the place of one that is stuck. The caller holds c.mu.
func (c *Client) connect() (*line, error) {
	if c.closed {
		return nil, ErrClosed
	}
	session, old := cmp.Or(c.Session, defaultSession), c.line
	if old != nil && !old.stuck(session) {
		return old, nil
	}
	began := func() {}
	if old != nil {
		began = sync.OnceFunc(func() { c.forgot(0) })
	}
	ctx, cut := context.WithCancel(context.Background())
	l := &line{cut: cut}
	var err error
	if c.logger == nil {
		c.logger = &logger{log: c.Log, last: map[string]time.Time{}}
	}
	l.conn, l.events, err = zk.Connect(c.Servers, session,
		zk.WithDialer(dialer(ctx, session)), zk.WithHostProvider(&hosts{}), zk.WithEventCallback(l.watch(began)),
		zk.WithLogInfo(false), zk.WithLogger(c.logger), zk.WithMaxBufferSize(8<<20))
	if err != nil {
		cut()
		return nil, err
	}
	if old != nil {
		c.logger.Printf("no server gives the session of before; a new one begins")
		c.calls.Go(old.end)
	}
	c.line = l
	return l, nil
}

// auth presents the user once. The library repeats it after each reconnection,
// before anything else is sent.
func (l *line) auth(user, password string) error {
	if user == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.authed {
		return nil
	}
	if err := l.conn.AddAuth("digest", []byte(user+":"+password)); err != nil {
		return err
	}
	l.authed = true
	return nil
}

// acl is who may touch what the Client makes.
func (c *Client) acl() []zk.ACL {
	if c.User == "" {
		return zk.WorldACL(zk.PermAll)
	}
	return zk.AuthACL(zk.PermAll)
}

// A logger is what the library writes to: of servers and connections, never of
// values. The library tries again each second and says each time what failed.
type logger struct {
	log *slog.Logger

	mu   sync.Mutex
	last map[string]time.Time // of a line, by its format
}

// Printf is what the library calls.
func (l *logger) Printf(format string, v ...any) {
	if l.log == nil {
		return
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.last[format]; ok && now.Sub(last) < time.Minute {
		return
	}
	l.last[format] = now
	l.log.Warn("zookeeper client", "says", fmt.Sprintf(format, v...))
}
