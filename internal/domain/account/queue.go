package account

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
)

// An Asker is the client that needs a hash, as far as the queue has to distinguish
// clients. The zero Asker is a stranger of no known network.
type Asker struct {
	// Network is the network of the client's address, so large that one person
	// rarely has two of them.
	Network netip.Prefix
	// Known says that the client has shown more than a name: that it is logged in,
	// that it is a device or at a place from which the account was logged in to
	// before, or that it holds a one-time link.
	Known bool
	// HereOnly says that no other system is asked about the password: see [Elsewhere].
	HereOnly bool
}

// A queue shares memory out to hashes. What cannot have its memory now waits,
// up to a number of hashes.
//
// Two classes wait, known askers and strangers, and they take turns. Within a
// class the networks take turns, and within a network the first comes first. So
// how many hashes one network asks for does not change how long another waits,
// and strangers of however many networks leave known askers every second turn.
//
// Each class may fill what the other leaves of the queue. When it is full, the
// class that has less than its half gets a place of the other, and otherwise the
// network that has the most places loses one to a network that has fewer. The
// newest waiter of that network goes: it has waited least, and the older ones
// are the next to be served.
//
// The memory of a queue grows with the number of hashes that may wait, and not
// with the number of networks that ask.
type queue struct {
	room int // hashes that may wait

	mu      sync.Mutex
	free    int64    // KiB that no hash uses
	classes [2]class // strangers, known askers
	turn    int      // the class whose turn it is if both wait
}

// A class is those of the waiters who are equal but for their network.
type class struct {
	waiting  int
	networks map[netip.Prefix]*line
	turns    []*line // the first is the next
}

// A line is the waiters of one network, at least one.
type line struct {
	waiters []*waiter // the first is the oldest
}

type waiter struct {
	by      Asker
	kib     int64
	waits   bool       // in its line
	decided chan error // nil when the memory is its own, ErrBusy when it lost its place
}

func newQueue(kib int64, room int) *queue {
	q := &queue{room: room, free: kib}
	for i := range q.classes {
		q.classes[i].networks = make(map[netip.Prefix]*line)
	}
	return q
}

// acquire returns when that much memory is the caller's, who gives it back by
// [queue.release]. It returns [ErrBusy] at once if there is no place to wait in,
// as soon as the place is lost to another network, and together with the error of
// ctx when ctx ends.
func (q *queue) acquire(ctx context.Context, by Asker, kib int64) error {
	w := q.join(by, kib)
	if w == nil {
		return ErrBusy
	}
	select {
	case err := <-w.decided:
		return err
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.waits {
		q.remove(w)
	} else if err := <-w.decided; err == nil { // the decision came at the same moment
		q.free += w.kib
	}
	q.serve() // what was too large for the free memory may have been in front
	return fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
}

func (q *queue) release(kib int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free += kib
	q.serve()
}

// join returns a waiter, which may have its answer already, or nil if there is no
// place.
func (q *queue) join(by Asker, kib int64) *waiter {
	w := &waiter{by: by, kib: kib, decided: make(chan error, 1)}
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.classes[0].waiting + q.classes[1].waiting
	if waiting == 0 && kib <= q.free {
		q.free -= kib
		w.decided <- nil
		return w
	}
	if waiting >= q.room && !q.makeRoom(by) {
		return nil
	}
	c := &q.classes[classOf(by)]
	l := c.networks[by.Network]
	if l == nil {
		l = &line{}
		c.networks[by.Network], c.turns = l, append(c.turns, l)
	}
	l.waiters, w.waits = append(l.waiters, w), true
	c.waiting++
	return w
}

// makeRoom takes a place from a network that has more than a share, for an asker who
// would have less. It reports whether there was one.
func (q *queue) makeRoom(by Asker) bool {
	own := classOf(by)
	from := &q.classes[own]
	if from.waiting < q.share(own) {
		from = &q.classes[1-own] // it fills the rest, which is more than its share
	}
	most := from.largest()
	if most == nil {
		return false
	}
	if from == &q.classes[own] && len(most.waiters) <= from.length(by.Network)+1 {
		return false // the asker's network would have as many places as that one
	}
	w := most.waiters[len(most.waiters)-1]
	q.remove(w)
	w.decided <- ErrBusy
	return true
}

// share is how many places a class is sure of. Of an odd number known askers get
// the odd one.
func (q *queue) share(class int) int {
	if class == 0 {
		return q.room / 2
	}
	return q.room - q.room/2
}

// serve gives memory to those whose turn it is. Where it does not suffice for the
// next one, none overtakes: a costly hash would wait for ever.
func (q *queue) serve() {
	for {
		if q.classes[q.turn].waiting == 0 {
			q.turn = 1 - q.turn
		}
		c := &q.classes[q.turn]
		if c.waiting == 0 {
			return
		}
		l := c.turns[0]
		w := l.waiters[0]
		if w.kib > q.free {
			return
		}
		q.remove(w)
		if len(l.waiters) > 0 {
			c.turns = append(c.turns[1:], l)
		}
		q.turn = 1 - q.turn
		q.free -= w.kib
		w.decided <- nil
	}
}

// remove takes w out of the queue.
func (q *queue) remove(w *waiter) {
	c := &q.classes[classOf(w.by)]
	l := c.networks[w.by.Network]
	l.waiters = slices.DeleteFunc(l.waiters, func(other *waiter) bool { return other == w })
	w.waits = false
	c.waiting--
	if len(l.waiters) == 0 {
		c.turns = slices.DeleteFunc(c.turns, func(other *line) bool { return other == l })
		delete(c.networks, w.by.Network)
	}
}

// largest is the line with the most waiters; of equal ones that whose turn is
// last. It is nil if none waits. It looks at each network that waits, for a
// queue holds few: 32 hashes for each processor.
func (c *class) largest() (most *line) {
	for _, l := range c.turns {
		if most == nil || len(l.waiters) >= len(most.waiters) {
			most = l
		}
	}
	return most
}

// length is how many of a network wait.
func (c *class) length(network netip.Prefix) int {
	l := c.networks[network]
	if l == nil {
		return 0
	}
	return len(l.waiters)
}

func classOf(by Asker) int {
	if by.Known {
		return 1
	}
	return 0
}
