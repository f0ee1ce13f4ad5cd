package redistier

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

const (
	// patience is how long a request waits for Redis before it does without.
	patience = 100 * time.Millisecond
	// stall is for how long requests go on asking a server that keeps silent,
	// counted from the first that lost its patience. A server that stands still
	// for less than both together, for a fork or a slow command, stays in use:
	// to leave it would send everybody to the database for longer than it stood.
	stall = 200 * time.Millisecond
	// pause is how long a server is left alone before one request tries it.
	pause = 250 * time.Millisecond
	// trips is how many failures in a row it takes at least.
	trips = 3
)

// A breaker stops requests from asking one server that does not answer.
type breaker struct {
	gate *gobreaker.CircuitBreaker[[]byte]
	// failing is when the server began to fail; nil while it does not. What
	// refuses, rather than keeping silent, is no stall, and has failed for ever.
	failing atomic.Pointer[time.Time]
	reason  atomic.Pointer[error]
}

// newBreaker makes a breaker for the server with that address; empty if there
// is but one, or none is known.
func newBreaker(addr string, log *slog.Logger) *breaker {
	if addr != "" {
		log = log.With("server", addr)
	}
	b := &breaker{}
	b.gate = gobreaker.NewCircuitBreaker[[]byte](gobreaker.Settings{
		Timeout: pause,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			since := b.failing.Load()
			return c.ConsecutiveFailures >= trips && since != nil && time.Since(*since) >= stall
		},
		IsSuccessful: func(err error) bool { return err == nil || absent(err) },
		// A caller who leaves says nothing about the server, either way.
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch {
			case from == gobreaker.StateClosed:
				log.Warn("redis does not answer; going on without", "err", *b.reason.Load())
			case to == gobreaker.StateClosed:
				log.Info("redis answers again")
			}
		},
	})
	return b
}

// do asks, unless the server is to be left alone.
func (b *breaker) do(ask func() ([]byte, error)) ([]byte, error) {
	return b.gate.Execute(func() ([]byte, error) {
		value, err := ask()
		b.note(err)
		return value, err
	})
}

func (b *breaker) note(err error) {
	switch {
	case err == nil || absent(err):
		if b.failing.Load() != nil {
			b.failing.Store(nil)
		}
	case errors.Is(err, context.Canceled):
	case silent(err):
		b.reason.Store(&err)
		now := time.Now()
		b.failing.CompareAndSwap(nil, &now)
	default:
		b.reason.Store(&err)
		b.failing.Store(&time.Time{})
	}
}

// absent reports whether Redis answered that there is no such key. It does not
// look into err: a sentinel that knows no such master is wrapped in one.
func absent(err error) bool { return err == redis.Nil } //nolint:errorlint // see above

// silent reports whether nobody answered in time, as opposed to a refusal.
func silent(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}
