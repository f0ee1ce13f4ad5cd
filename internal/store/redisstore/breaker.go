package redisstore

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

// A breaker stops requests from asking one server that does not answer.
type breaker[T any] struct {
	circuit *gobreaker.CircuitBreaker[T]
	// failing is when the server began to fail; nil while it does not. A server that
	// refuses, rather than not answering, is no stall, and has failed for ever.
	failing atomic.Pointer[time.Time]
	reason  atomic.Pointer[error]
}

// newBreaker makes a breaker that logs gone, with the reason, when it opens, and back
// when it closes.
func newBreaker[T any](log *slog.Logger, gone, back string) *breaker[T] {
	b := &breaker[T]{}
	b.circuit = gobreaker.NewCircuitBreaker[T](gobreaker.Settings{
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
				log.Warn(gone, "err", *b.reason.Load()) //nolint:sloglint // callers pass constants
			case to == gobreaker.StateClosed:
				log.Info(back) //nolint:sloglint // callers pass constants
			}
		},
	})
	return b
}

// do asks, unless the server is to be left alone.
func (b *breaker[T]) do(ask func() (T, error)) (T, error) {
	return b.circuit.Execute(func() (T, error) {
		value, err := ask()
		b.note(err)
		return value, err
	})
}

func (b *breaker[T]) note(err error) {
	switch {
	case err == nil || absent(err):
		if b.failing.Load() != nil {
			b.failing.Store(nil)
		}
	case errors.Is(err, context.Canceled):
	case timedOut(err):
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

// timedOut reports whether no answer came in time, as opposed to a refusal.
func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}
