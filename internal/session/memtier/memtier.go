// Package memtier is this process's memory of sessions: a [session.Store] in
// front of another.
//
// It answers from memory only while the answer's as-of is younger than the
// bound, however the answer got here and whatever the tiers behind are doing.
// What it was told has ended it refuses at once, also when a slow reader
// brings back, later, an answer from before the end.
package memtier

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/session"
)

// Options says how large the memory is and how long it is believed.
type Options struct {
	// Entries is how many sessions are remembered at most; about 400 bytes each.
	Entries int
	// Bound is how old an alive answer may be, counted from its as-of.
	Bound time.Duration
	// Load limits one question to the next tier. 0 means 3 seconds.
	Load time.Duration
	// Now tells the time. nil means time.Now.
	Now func() time.Time
}

// A Tier remembers. Make one with [New].
type Tier struct {
	next   session.Store
	bound  time.Duration
	now    func() time.Time
	cache  *otter.Cache[idworker.ID, *entry]
	loader otter.Loader[idworker.ID, *entry]
	graves graves
}

var _ session.Store = (*Tier)(nil)

// An entry is a session and when it was last used, which moves on without the
// session being read anew.
type entry struct {
	session.Session
	seen atomic.Int64 // Unix milliseconds
}

var errStale = errors.New("the answer took longer than it may be believed")

// New returns a tier in front of next. It fails if o cannot be met.
func New(next session.Store, o Options) (*Tier, error) {
	if o.Entries <= 0 || o.Bound <= 0 {
		return nil, fmt.Errorf("memtier: needs room and a bound above 0, not %d entries and %v", o.Entries, o.Bound)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Load == 0 {
		o.Load = 3 * time.Second
	}
	// Nothing here expires by the cache's own clock: every answer's age is looked
	// at as it is given, and what nobody asks for makes room for what is.
	cache, err := otter.New(&otter.Options[idworker.ID, *entry]{
		MaximumSize: o.Entries,
	})
	if err != nil {
		return nil, fmt.Errorf("memtier: %w", err)
	}
	t := &Tier{next: next, bound: o.Bound, now: o.Now, cache: cache}
	// A slow load may come to rest after the end of its session was heard. It
	// is remembered for the bound, twice, and some: by then its as-of is too old.
	t.graves.keep = 2*o.Bound + 2*o.Load + 30*time.Second
	t.loader = otter.LoaderFunc[idworker.ID, *entry](func(ctx context.Context, id idworker.ID) (*entry, error) {
		ctx, cancel := context.WithTimeout(ctx, o.Load)
		defer cancel()
		s, err := next.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		e := &entry{Session: s}
		e.seen.Store(s.Seen.UnixMilli())
		return e, nil
	})
	return t, nil
}

// Get answers from memory, or asks the next tier: once for all who ask at the
// same time.
func (t *Tier) Get(ctx context.Context, id idworker.ID) (session.Session, error) {
	if e, ok := t.cache.GetIfPresent(id); ok {
		if s, ok := t.believe(e); ok {
			return s, nil
		}
		t.drop(id, e)
	}
	// Twice: what the next tier remembered, too, may be believed for a moment
	// more when it answers and no longer when the answer is here.
	for range 2 {
		e, err := t.cache.Get(ctx, id, t.loader)
		if err != nil {
			return session.Session{}, err
		}
		if s, ok := t.believe(e); ok {
			return s, nil
		}
		t.drop(id, e)
	}
	return session.Session{}, fmt.Errorf("memtier: %w", errStale)
}

// drop forgets e, and not what came in its place meanwhile: to invalidate an
// ID whose session is being loaded would make the cache load it once more for
// everybody who still holds e.
func (t *Tier) drop(id idworker.ID, e *entry) {
	t.cache.ComputeIfPresent(id, func(held *entry) (*entry, otter.ComputeOp) {
		if held == e {
			return nil, otter.InvalidateOp
		}
		return held, otter.CancelOp
	})
}

// believe is the session that e remembers, or false if e is too old to say.
// Every answer passes here: nothing is accepted that was heard to have ended.
func (t *Tier) believe(e *entry) (session.Session, bool) {
	s := e.Session
	if !s.Alive() {
		return s, true
	}
	if why, dead := t.graves.find(s.UserID, s.ID); dead {
		s.Ended = why
		return s, true
	}
	s.Seen = time.UnixMilli(e.seen.Load()).UTC()
	return s, session.Age(t.now(), s.AsOf) < t.bound
}

// Touch moves the remembered time of last use forward, and passes it on.
func (t *Tier) Touch(ctx context.Context, id idworker.ID, seen time.Time) error {
	if e, ok := t.cache.GetIfPresent(id); ok {
		for at, ms := e.seen.Load(), seen.UnixMilli(); at < ms; at = e.seen.Load() {
			if e.seen.CompareAndSwap(at, ms) {
				break
			}
		}
	}
	return t.next.Touch(ctx, id, seen)
}

// Hear refuses the session from now on, and passes the word on.
func (t *Tier) Hear(ctx context.Context, ended session.Session) error {
	t.Note(ended)
	return t.next.Hear(ctx, ended)
}

// Note refuses the session from now on and tells nobody: for word that came
// from another instance.
func (t *Tier) Note(ended session.Session) {
	t.graves.add(t.now(), ended.UserID, ended.ID, ended.Ended)
}
