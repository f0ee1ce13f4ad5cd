package account

import (
	"container/list"
	"context"
	"fmt"
	"net/netip"
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
	networks map[netip.Prefix]*list.Element // of turns
	turns    list.List                      // of *line; the front is the next
}

// A line is the waiters of one network, at least one.
type line struct {
	network netip.Prefix
	waiters list.List // of *waiter; the front is the oldest
}

type waiter struct {
	by      Asker
	kib     int64
	place   *list.Element // in its line; nil once it has left the queue
	decided chan error    // nil when the memory is its own, ErrBusy when it lost its place
}

func newQueue(kib int64, room int) *queue {
	q := &queue{room: room, free: kib}
	for i := range q.classes {
		q.classes[i].networks = make(map[netip.Prefix]*list.Element)
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
	if w.place != nil {
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
	turn, ok := c.networks[by.Network]
	if !ok {
		turn = c.turns.PushBack(&line{network: by.Network})
		c.networks[by.Network] = turn
	}
	w.place = lineAt(turn).waiters.PushBack(w)
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
	if from == &q.classes[own] && most.waiters.Len() <= from.length(by.Network)+1 {
		return false // the asker's network would have as many places as that one
	}
	w := waiterAt(most.waiters.Back())
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
		turn := c.turns.Front()
		w := waiterAt(lineAt(turn).waiters.Front())
		if w.kib > q.free {
			return
		}
		q.remove(w)
		if lineAt(turn).waiters.Len() > 0 {
			c.turns.MoveToBack(turn)
		}
		q.turn = 1 - q.turn
		q.free -= w.kib
		w.decided <- nil
	}
}

// remove takes w out of the queue.
func (q *queue) remove(w *waiter) {
	c := &q.classes[classOf(w.by)]
	turn := c.networks[w.by.Network]
	l := lineAt(turn)
	l.waiters.Remove(w.place)
	w.place = nil
	c.waiting--
	if l.waiters.Len() == 0 {
		c.turns.Remove(turn)
		delete(c.networks, w.by.Network)
	}
}

// largest is the line with the most waiters; of equal ones that whose turn is
// last. It is nil if none waits. It looks at each network that waits, for a
// queue holds few: 32 hashes for each processor.
func (c *class) largest() (most *line) {
	for turn := c.turns.Front(); turn != nil; turn = turn.Next() {
		if l := lineAt(turn); most == nil || l.waiters.Len() >= most.waiters.Len() {
			most = l
		}
	}
	return most
}

// length is how many of a network wait.
func (c *class) length(network netip.Prefix) int {
	turn, ok := c.networks[network]
	if !ok {
		return 0
	}
	return lineAt(turn).waiters.Len()
}

func classOf(by Asker) int {
	if by.Known {
		return 1
	}
	return 0
}

// lineAt is the line of an element of turns, and waiterAt the waiter of one of a
// line: nothing else is in these lists.
func lineAt(e *list.Element) *line {
	l, _ := e.Value.(*line)
	return l
}

func waiterAt(e *list.Element) *waiter {
	w, _ := e.Value.(*waiter)
	return w
}
