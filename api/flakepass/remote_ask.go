package flakepass

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// batch is how many tokens are asked about in one call at most.
	batch = 100
	// flights is how many calls are under way at most.
	flights = 4
	// patience is how long a call may take before the next does not wait for it.
	patience = 20 * time.Millisecond
	// waiting is how many questions may wait for a call.
	waiting = 1 << 14
)

// A desk is where questions wait: each token is asked about once, for all who
// want to know. When nothing is under way a question goes at once; what comes
// meanwhile goes together.
type desk struct {
	mu      sync.Mutex
	asked   map[asked]*question // waiting or under way
	queue   []*question
	flying  int
	takeoff instant // of the newest flight
}

// asked is what a question asks. A passive one is another: it tells the server of
// no use, and whoever uses the login must not wait for that one.
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
		// Whoever joined a question that had been sent before counts as having found
		// the answer remembered.
		if q.err != nil || since <= q.sent || since-q.asOf < instant(r.known.trust.Load()) {
			return q.who, q.err
		}
	}
	return Identity{}, errRemoteStale
}

// renew asks, and waits for nothing.
func (r *Remote) renew(ctx context.Context, t Token, k *key) {
	_, _ = r.join(ctx, t, k) // what is remembered answers on, for as long as it may
}

// join finds the question about a token, or puts it.
func (r *Remote) join(ctx context.Context, t Token, k *key) (*question, error) {
	d, what := &r.desk, asked{*k, IsPassive(ctx)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if q, ok := d.asked[what]; ok {
		return q, nil
	}
	switch {
	case r.closed.Load():
		return nil, errRemoteClosed
	case len(d.queue) >= waiting:
		return nil, errRemoteBusy
	}
	q := &question{asked: what, token: t, done: make(chan struct{})}
	d.asked[what] = q
	d.queue = append(d.queue, q)
	now, _ := r.clock.now()
	if d.flying == 0 || d.flying < flights && (len(d.queue) >= batch || now-d.takeoff > instant(patience)) {
		d.flying++
		d.takeoff = now
		r.flying.Go(r.fly)
	}
	return q, nil
}

// fly asks for as long as somebody waits.
func (r *Remote) fly() {
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

// take is the next questions to go, or none: then the flight has landed.
func (r *Remote) take() []*question {
	d := &r.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(d.queue), batch)
	if n == 0 {
		d.flying--
		return nil
	}
	questions := d.queue[:n:n]
	if d.queue = d.queue[n:]; len(d.queue) == 0 {
		d.queue = nil
	}
	d.takeoff, _ = r.clock.now()
	return questions
}

// settle hands out the answers. What has none is undecided.
func (r *Remote) settle(questions []*question, err error) {
	r.desk.mu.Lock()
	for _, q := range questions {
		delete(r.desk.asked, q.asked)
		q.token = Token{}
	}
	r.desk.mu.Unlock()
	for _, q := range questions {
		if err != nil {
			q.err = err
		}
		close(q.done)
	}
}
