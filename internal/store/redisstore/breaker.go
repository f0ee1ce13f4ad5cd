package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// askTimeout is how long a request waits for Redis before it does without.
	askTimeout = 100 * time.Millisecond
	// stall is for how long requests go on asking a server that does not answer,
	// counted from the first that timed out. A server that stands still for less
	// than both together, for a fork or a slow command, stays in use: to leave it
	// would send every request to the database for longer than it stood.
	stall = 200 * time.Millisecond
	// pause is how long a server is left alone before one request tries it.
	pause = 250 * time.Millisecond
	// trips is how many failures in a row it takes at least.
	trips = 3
)

// errLeftAlone means that the server was not asked.
var errLeftAlone = errors.New("redisstore: the server is left alone for a while")

// A breaker stops requests from asking one server that does not answer. Where all is
// well, a request reads one word of it.
type breaker struct {
	log        *slog.Logger
	gone, back string // what it logs when it opens, and when it closes

	failing  atomic.Bool // whether the server failed after its last answer; mu guards all changes
	mu       sync.Mutex
	failures int       // in a row
	since    time.Time // of the first that timed out; zero after a refusal: then there is no wait for stall
	until    time.Time // until when the server is left alone; zero while it is not
}

// do asks, unless the server is to be left alone.
func (b *breaker) do(ask func() error) error {
	try := false
	if b.failing.Load() {
		var asks bool
		if try, asks = b.admit(); !asks {
			return errLeftAlone
		}
	}
	err := ask()
	if answered(err) && !b.failing.Load() {
		return err
	}
	b.note(try, err)
	return err
}

// admit reports whether a server that fails may be asked, and whether to try if it is
// back. Who tries has the time of a pause, in which nobody else does.
func (b *breaker) admit() (try, asks bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return false, true
	}
	now := time.Now()
	if now.Before(b.until) {
		return false, false
	}
	b.until = now.Add(pause)
	return true, true
}

func (b *breaker) note(try bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	open := !b.until.IsZero()
	switch {
	case open && !try: // asked before the server was left alone
	case answered(err):
		b.failing.Store(false)
		b.failures, b.until = 0, time.Time{}
		if open {
			b.log.Info(b.back) //nolint:sloglint // callers pass constants
		}
	case errors.Is(err, context.Canceled): // a caller who leaves says nothing about the server, either way
		if open {
			b.until = time.Now()
		}
	case open:
		b.until = time.Now().Add(pause)
	default:
		b.fail(err)
	}
}

// fail counts a failure, and opens if they are enough for long enough.
func (b *breaker) fail(err error) {
	now := time.Now()
	b.failing.Store(true)
	b.failures++
	switch {
	case !timedOut(err):
		b.since = time.Time{}
	case b.failures == 1:
		b.since = now
	}
	if b.failures >= trips && now.Sub(b.since) >= stall {
		b.until = now.Add(pause)
		b.log.Warn(b.gone, "err", err) //nolint:sloglint // callers pass constants
	}
}

func answered(err error) bool { return err == nil || absent(err) }

// absent reports whether Redis answered that there is no such key. It does not
// look into err: a sentinel that knows no such master is wrapped in one.
func absent(err error) bool { return err == redis.Nil } //nolint:errorlint // see above

// timedOut reports whether no answer came in time, as opposed to a refusal.
func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}
