package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A gatherer sends the commands of concurrent requests to a server together: those that
// come while it waits for answers are the next batch. A lone one does not wait for others.
//
// go-redis has one. Whoever waits for that needs a context with the deadline in it, which
// is a timer for each request, and two goroutines stand between the request and the server.
type gatherer struct {
	to interface{ Pipeline() redis.Pipeliner }

	mu   sync.Mutex
	next *batch // nil if nobody came since the last one was sent
	busy bool   // whether a goroutine sends
}

// A batch is sent at once.
type batch struct {
	pipe redis.Pipeliner
	done chan struct{} // closed when all of its commands have an answer
}

// ask has cmd sent, and waits until it has an answer, ctx ends or late is closed. After
// the error of either of these cmd may still be written to.
func (g *gatherer) ask(ctx context.Context, late <-chan struct{}, cmd redis.Cmder) error {
	select {
	case <-g.add(cmd): //nolint:contextcheck // a batch is of many callers, none of whom ends it
		return cmd.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return context.DeadlineExceeded
	}
}

func (g *gatherer) add(cmd redis.Cmder) (done <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next = &batch{g.to.Pipeline(), make(chan struct{})}
	}
	_ = g.next.pipe.Process(context.Background(), cmd) // only notes it
	if !g.busy {
		g.busy = true
		go g.send()
	}
	return g.next.done
}

// send sends until there is nothing more to send.
func (g *gatherer) send() {
	for b := g.take(); b != nil; b = g.take() {
		cmds, err := b.pipe.Exec(context.Background()) // the client's limits on time hold
		if err != nil && !slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return c.Err() != nil }) {
			// No command was sent: Redis refused the connection's password, and the client tells only
			// of its own failures in each command. Without an error each would have an empty answer.
			for _, c := range cmds {
				c.SetErr(err)
			}
		}
		close(b.done)
	}
}

func (g *gatherer) take() *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.next
	g.next, g.busy = nil, b != nil
	return b
}

// A patience is how long requests wait: those that begin within a grain of time share a
// timer, so each waits for askTimeout, or for up to a grain less.
type patience struct {
	mu    sync.Mutex
	fresh time.Time // until when who begins to wait shares late
	late  chan struct{}
}

const grain = 5 * time.Millisecond

// begin returns a channel that is closed when the wait that begins now is over.
func (p *patience) begin() <-chan struct{} {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.After(p.fresh) {
		late := make(chan struct{})
		time.AfterFunc(askTimeout, func() { close(late) })
		p.late, p.fresh = late, now.Add(grain)
	}
	return p.late
}
