package flakepass

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// batch is how many tokens are asked about in one call at most.
	batch = 100
	// maxCalls is how many calls are under way at most.
	maxCalls = 4
	// patience is how long a call may take before the next does not wait for it.
	patience = 20 * time.Millisecond
	// maxQuestions is how many questions may wait for a call.
	maxQuestions = 1 << 14
)

// pending collects what the server is asked, so that callers who ask about one
// token share one question. When no call is under way, a question is sent at once;
// those that come meanwhile are sent together.
type pending struct {
	mu       sync.Mutex
	asked    map[asked]*question // waiting or under way
	queue    []*question
	calls    int     // under way
	lastCall instant // when the newest began
}

// asked is what a question asks. A passive one is another question: the server counts
// no use for it, so a caller that uses the login must not share it.
type asked struct {
	key     key
	passive bool
}

// A question is about one token. Its answer may be read once done is closed.
type question struct {
	asked
	token Token // until it was sent
	done  chan struct{}

	sent, asOf instant
	who        Identity
	err        error
}

// ask waits for the answer of the server. since is when Verify was called.
func (r *Remote) ask(ctx context.Context, t Token, k *key, since instant) (Identity, error) {
	// For a call that is under way and for its own. While the server hangs, the queue moves by a
	// few calls in each Timeout: who is further behind learns nothing by waiting.
	ctx, cancel := context.WithTimeout(ctx, 2*min(r.o.Timeout, math.MaxInt64/2))
	defer cancel()
	for range 2 {
		q, err := r.join(ctx, t, k)
		if err != nil {
			return Identity{}, err
		}
		select {
		case <-q.done:
		case <-ctx.Done():
			return Identity{}, fmt.Errorf("flakepass: ask the server: %w", ctx.Err())
		}
		// A caller that joined a question after it was sent is treated as if it had
		// found the answer in the cache.
		if q.err != nil || since <= q.sent || since-q.asOf < instant(r.known.trust.Load()) {
			return q.who, q.err
		}
	}
	return Identity{}, errRemoteStale
}

// join finds the question about a token, or adds it.
func (r *Remote) join(ctx context.Context, t Token, k *key) (*question, error) {
	d, what := &r.pending, asked{*k, IsPassive(ctx)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if q, ok := d.asked[what]; ok {
		return q, nil
	}
	switch {
	case r.closed.Load():
		return nil, errRemoteClosed
	case len(d.queue) >= maxQuestions:
		return nil, errRemoteBusy
	}
	q := &question{asked: what, token: t, done: make(chan struct{})}
	d.asked[what] = q
	d.queue = append(d.queue, q)
	now, _ := r.clock.now()
	if d.calls == 0 || d.calls < maxCalls && (len(d.queue) >= batch || now-d.lastCall > instant(patience)) {
		d.calls++
		d.lastCall = now
		r.running.Go(r.call)
	}
	return q, nil
}

// call asks for as long as questions wait.
func (r *Remote) call() {
	for {
		questions := r.take()
		if len(questions) == 0 {
			return
		}
		r.put(questions)
	}
}

// put asks and hands the answers out, in smaller calls if the server takes fewer
// questions at once.
func (r *Remote) put(questions []*question) {
	err := r.verifications(questions)
	if n := len(questions); n > 1 && errors.Is(err, errRemoteTooMany) {
		r.put(questions[:n/2])
		r.put(questions[n/2:])
		return
	}
	r.settle(questions, err)
}

// take is the next questions to send. If there are none, the caller's call ends.
func (r *Remote) take() []*question {
	d := &r.pending
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(d.queue), batch)
	if n == 0 {
		d.calls--
		return nil
	}
	questions := d.queue[:n:n]
	if d.queue = d.queue[n:]; len(d.queue) == 0 {
		d.queue = nil
	}
	d.lastCall, _ = r.clock.now()
	return questions
}

// settle hands out the answers. What has none is undecided.
func (r *Remote) settle(questions []*question, err error) {
	r.pending.mu.Lock()
	for _, q := range questions {
		delete(r.pending.asked, q.asked)
		q.token = Token{}
	}
	r.pending.mu.Unlock()
	for _, q := range questions {
		if err != nil {
			q.err = err
		}
		close(q.done)
	}
}

// An instant is nanoseconds since a Remote was made. It is the time of the monotonic clock, plus
// the most by which the wall clock has been ahead of the monotonic clock so far. The monotonic
// clock stands still while a machine sleeps, and the wall clock does not.
type instant int64

// A steady is nanoseconds since a Remote was made by the even clock alone. It
// never shows more time than has passed.
type steady int64

type remoteClock struct {
	base time.Time
	jump *atomic.Int64
}

// step is by how much the clocks must differ for it to count as a sleep.
const step = time.Millisecond

func newRemoteClock() remoteClock { return remoteClock{base: time.Now(), jump: new(atomic.Int64)} }

func (c *remoteClock) now() (instant, steady) {
	t := time.Now()
	even := int64(t.Sub(c.base))
	jump := c.jump.Load()
	for ahead := t.UnixNano() - c.base.UnixNano() - even; ahead > jump+int64(step); jump = c.jump.Load() {
		c.jump.CompareAndSwap(jump, ahead)
	}
	return instant(even + jump), steady(even)
}

// slower is d, which is not below 0, as the shortest time that it may have been by another machine's
// clock, whose rate may differ by 0.05 % (NTP corrects a clock by that much at
// most, and no crystal is worse).
func slower(d time.Duration) time.Duration { return d - d/2000 }

// trusted is how old knowledge may be, measured here, so that it is younger than
// bound by the server's clock.
func trusted(bound time.Duration) time.Duration { return slower(bound) - 2*step }

// A serverClock is what a server's clock showed, and when that was: after
// sent, before arrived.
type serverClock struct {
	wall    int64 // Unix milliseconds, rounded down
	sent    instant
	arrived steady
}

// latest is the most that the clock may show now, in Unix milliseconds.
func (c *serverClock) latest(now instant) int64 {
	d := time.Duration(now - c.sent)
	return c.wall + 2 + (d + d/1000).Milliseconds()
}

// earliest is the least that it may show at that time, which may be past.
func (c *serverClock) earliest(at steady) int64 {
	d := time.Duration(at - c.arrived)
	return c.wall + (d - max(d, -d)/1000).Milliseconds() - 1
}
