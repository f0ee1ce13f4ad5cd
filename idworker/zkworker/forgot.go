package zkworker

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrForgotten says that ZooKeeper may have lost its data, and that no number
// is taken before what it had lent is over; see [Client.Calm].
var ErrForgotten = errors.New("zkworker: zookeeper has lost its data, or seems to; no number is taken yet")

const defaultCalm = 10 * time.Second

// A past is what this process knows, and a ZooKeeper that has lost its data
// does not.
type past struct {
	mu    sync.Mutex
	calm  time.Time // no number is taken before; by the monotonic clock
	floor int64     // no range begins before, Unix ms
}

// forgot begins a calm. What was lent to this process ends at known, or before.
func (c *Client) forgot(known int64) {
	c.past.mu.Lock()
	defer c.past.mu.Unlock()
	c.past.calm = time.Now().Add(cmp.Or(c.Calm, defaultCalm))
	c.past.floor = max(c.past.floor, known)
}

// remembered returns the instant before which no range may begin, or
// [ErrForgotten] during a calm.
func (c *Client) remembered() (floor int64, err error) {
	c.past.mu.Lock()
	defer c.past.mu.Unlock()
	if left := time.Until(c.past.calm); left > 0 {
		return 0, fmt.Errorf("%w (in %v)", ErrForgotten, left.Round(time.Millisecond))
	}
	return c.past.floor, nil
}

// session is the ID of the session that lives, or 0.
func (c *Client) session() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, err := c.connect()
	if err != nil || l.conn.State() != zk.StateHasSession {
		return 0
	}
	return l.conn.SessionID()
}

// stuck reports whether servers have refused this line a session for as long as one lasts. A
// ZooKeeper that has lost its data treats clients so that have seen a later state than its own. The
// library would present the old session and the later state for ever. A new line begins without
// either.
func (l *line) stuck(session time.Duration) bool {
	since := l.refused.Load()
	return since != nil && time.Since(*since) > session
}

// watch notes since when servers take the connection and give no session. Only
// the library's own goroutine calls what it returns.
func (l *line) watch(began func()) zk.EventCallback {
	before := zk.StateUnknown
	return func(e zk.Event) {
		if e.Type != zk.EventSession {
			return
		}
		switch {
		case e.State == zk.StateHasSession:
			l.refused.Store(nil)
			began()
		case e.State == zk.StateExpired:
			l.refused.Store(nil)
		case e.State == zk.StateDisconnected && before == zk.StateConnected && l.refused.Load() == nil:
			now := time.Now()
			l.refused.Store(&now)
		}
		before = e.State
	}
}
