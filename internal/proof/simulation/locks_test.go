//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package simulation

import (
	"context"
	"sync"
	"time"
)

// A lock is that of one row of a table: shared by many, or held by one.
type lock struct {
	mu     sync.Mutex
	shares int
	held   bool
	freed  chan struct{} // closed when it becomes free, if another waits
}

func (l *lock) try(share bool) (free <-chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held || (!share && l.shares > 0) {
		if l.freed == nil {
			l.freed = make(chan struct{})
		}
		return l.freed, false
	}
	if share {
		l.shares++
	} else {
		l.held = true
	}
	return nil, true
}

func (l *lock) wait(share bool) error {
	limit := time.NewTimer(lockWait)
	defer limit.Stop()
	for {
		free, ok := l.try(share)
		if ok {
			return nil
		}
		select {
		case <-free:
		case <-limit.C:
			return errLockWait
		}
	}
}

func (l *lock) release(share bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if share {
		l.shares--
	} else {
		l.held = false
	}
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

// A tx is a transaction at the server. It goes on as long as the one who asked
// for it sends statements; what was sent last happens whether or not anyone
// still waits for it.
type tx struct {
	*database
	ctx    context.Context //nolint:containedctx // of the one who sends its statements
	wire   *wire
	locked []func()
	held   []*row   // that hold has locked
	undo   []func() // what the history has to know if it is over
}

// begin begins a transaction. Its end must be called.
func (l *link) begin(ctx context.Context) *tx {
	l.mu.Lock()
	l.busy++
	l.mu.Unlock()
	return &tx{database: l.database, ctx: ctx, wire: l.wire}
}

func (t *tx) end() {
	for _, over := range t.undo {
		over()
	}
	for _, release := range t.locked {
		release()
	}
	t.mu.Lock()
	t.busy--
	t.mu.Unlock()
}

// next is the way to the next statement. It fails if there will be none.
func (t *tx) next() error {
	t.between()
	if t.ctx.Err() != nil || t.wire.dead.Load() {
		return errAborted
	}
	return nil
}

func (t *tx) take(l *lock, share bool) error {
	if err := l.wait(share); err != nil {
		return err
	}
	t.locked = append(t.locked, func() { l.release(share) })
	return nil
}

// takeNow takes a lock only if it is free.
func (t *tx) takeNow(l *lock, share bool) bool {
	if _, ok := l.try(share); !ok {
		return false
	}
	t.locked = append(t.locked, func() { l.release(share) })
	return true
}

// commit makes a change visible, sooner or later, or never.
func (t *tx) commit(change func()) error {
	t.mu.Lock()
	took, lost, deaf := t.commitTime()
	t.mu.Unlock()
	if !deaf {
		time.Sleep(took)
	}
	if lost {
		return errAborted
	}
	t.mu.Lock()
	change()
	t.mu.Unlock()
	if deaf {
		for _, over := range t.undo {
			over()
		}
		for _, release := range t.locked {
			release()
		}
		t.undo, t.locked, t.held = nil, nil, nil
		time.Sleep(took)
	}
	return nil
}

func (d *database) commitTime() (took time.Duration, lost, deaf bool) {
	most := 3 * time.Millisecond
	switch f := d.r.Float64(); {
	case f < d.mood.hang:
		most = 20 * time.Second
	case f < d.mood.hang+d.mood.late:
		most = 3 * time.Second
	}
	lost, deaf = d.r.Float64() < d.mood.lose, d.r.Float64() < d.mood.deaf
	return time.Duration(1 + d.r.Int64N(int64(most))), lost, deaf && !lost
}
