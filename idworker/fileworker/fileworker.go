// Package fileworker lends worker numbers to the processes of one machine from
// a directory. It needs nothing else: a server and a command beside it get
// different numbers, and a process that is killed leaves its number free at
// once.
//
// Each number has a file. The process with the lock (flock) on the file owns the
// number; the kernel lets go of it when the process ends, however it ends. The
// file holds the fence.
//
// The directory is on a local disk and belongs to this machine alone: flock on
// network file systems is not to be trusted. Do not delete files while a
// process uses them; a process that notices gives up its number. A program of root's uses no
// directory of another user, who could put a link there to a file of root's.
package fileworker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/internal/durable"
	"github.com/flakepass/flakepass/idworker/internal/lend"
)

var _ idworker.Lender = (*Lender)(nil)

// patience is how often to look again when every number is locked, before that
// is taken for the truth.
const patience = 20

// A Lender lends the numbers of a directory. Set the fields before use; a
// Lender must not be copied afterwards.
type Lender struct {
	// Dir is the directory. It is made if absent, for its owner only.
	Dir string

	// Before, if it is a directory, lent the same numbers before Dir did, to processes that may
	// still run. A number is then held in both, and begins behind both fences.
	Before string

	// Numbers is how many numbers there are, from 0. Zero means 1024.
	Numbers int

	// Now is the time; nil means time.Now. Ranges that never overlap do not
	// depend on it.
	Now func() time.Time

	mu   sync.Mutex
	held map[string]*held // by token
}

// A held number is one that this Lender holds the lock of.
type held struct {
	file   *durable.File
	fence  int64 // the last one acknowledged, Unix ms
	before *held // the same number in the directory that lent it before; nil without one
}

// Acquire implements [idworker.Lender]. It takes the lowest free number whose
// fence the clock has passed, or else the free number with the lowest fence: a
// number that was killed a moment ago, or used before the clock was set back,
// would have to wait. A number whose file is damaged is skipped.
func (l *Lender) Acquire(ctx context.Context, window time.Duration) (idworker.Grant, error) {
	number, h, err := l.pick(ctx)
	// Others who look for a number hold locks while they compare, two at a time
	// and not for long.
	for range patience {
		if !errors.Is(err, idworker.ErrNoNumber) {
			break
		}
		if err := lend.Pause(ctx, 10*time.Millisecond); err != nil {
			return idworker.Grant{}, fmt.Errorf("fileworker: acquire: %w", err)
		}
		number, h, err = l.pick(ctx)
	}
	if err != nil {
		return idworker.Grant{}, fmt.Errorf("fileworker: acquire: %w", err)
	}
	from := max(lend.Now(l.Now), h.fence)
	until := from + window.Milliseconds()
	err = h.write(until)
	if err == nil {
		// The file may be new, or its maker may have died before this.
		err = durable.SyncDir(l.Dir)
	}
	if err == nil && h.before != nil {
		err = durable.SyncDir(l.Before)
	}
	if err != nil {
		return idworker.Grant{}, errors.Join(fmt.Errorf("fileworker: acquire: %w", err), h.close())
	}
	token := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[string]*held)
	}
	l.held[token] = h
	return idworker.Grant{Number: number, Token: token, From: time.UnixMilli(from), Until: time.UnixMilli(until)}, nil
}

// pick returns a number with its lock held.
func (l *Lender) pick(ctx context.Context) (number int, best *held, err error) {
	many, err := lend.Numbers(l.Numbers)
	if err != nil {
		return 0, nil, err
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return 0, nil, err
	}
	now := lend.Now(l.Now)
	var damaged error
	for n := range many {
		if err := ctx.Err(); err != nil {
			return 0, nil, errors.Join(err, best.close())
		}
		h, err := l.take(n)
		switch {
		case errors.Is(err, durable.ErrBusy):
		case errors.Is(err, ErrDamaged):
			damaged = err
		case err != nil:
			return 0, nil, errors.Join(err, best.close())
		case best == nil || h.fence < best.fence:
			if err := best.close(); err != nil {
				return 0, nil, errors.Join(err, h.close())
			}
			number, best = n, h
			if h.fence <= now {
				return number, best, nil
			}
		default:
			if err := h.close(); err != nil {
				return 0, nil, errors.Join(err, best.close())
			}
		}
	}
	if best == nil {
		return 0, nil, errors.Join(idworker.ErrNoNumber, damaged)
	}
	return number, best, nil
}

// Extend implements [idworker.Lender]. A number whose file was deleted or
// replaced is lost.
func (l *Lender) Extend(_ context.Context, g idworker.Grant, until time.Time) (idworker.Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, err := l.owner(g)
	if err != nil {
		return idworker.Grant{}, fmt.Errorf("fileworker: extend: %w", err)
	}
	if fence := until.UnixMilli(); fence > h.fence {
		if err := h.write(fence); err != nil {
			return idworker.Grant{}, fmt.Errorf("fileworker: extend: %w", err)
		}
	}
	g.Until = time.UnixMilli(h.fence)
	return g, nil
}

// Release implements [idworker.Lender]. The number is free afterwards, also if
// the fence could not be written; then the rest of the range is wasted.
func (l *Lender) Release(_ context.Context, g idworker.Grant, used time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, err := l.owner(g)
	if err != nil {
		return fmt.Errorf("fileworker: release: %w", err)
	}
	delete(l.held, g.Token)
	if fence := max(lend.CeilMilli(used), g.From.UnixMilli()); fence < h.fence {
		err = h.write(fence)
	}
	// The lock goes last: its next owner reads what is written.
	if err := errors.Join(err, h.close()); err != nil {
		return fmt.Errorf("fileworker: release: %w", err)
	}
	return nil
}

// Close lets go of every number, as the end of the process would: nothing is
// handed back, and what was lent is lost.
func (l *Lender) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for token, h := range l.held {
		err = errors.Join(err, h.close())
		delete(l.held, token)
	}
	return err
}

// owner finds what is held under a grant's token.
func (l *Lender) owner(g idworker.Grant) (*held, error) {
	h, ok := l.held[g.Token]
	if !ok {
		return nil, idworker.ErrLost
	}
	same, err := h.file.Named()
	if err != nil {
		return nil, err
	}
	if !same {
		delete(l.held, g.Token)
		return nil, errors.Join(idworker.ErrLost, h.close())
	}
	return h, nil
}
