// Package memtier is this process's memory of sessions: a [session.Store] in
// front of another.
//
// Every answer passes here, and is given only if one of two things is younger
// than the bound: the database read that this process made for it, or the
// horizon up to which this process has heard of every end. What it was told has
// ended it refuses at once, also when a slow reader brings back, later, an
// answer from before the end.
package memtier

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Options says how large the memory is and how long it is believed.
type Options struct {
	// Entries is how many sessions are remembered at most; about 400 bytes each.
	Entries int
	// Bound is how old the knowledge may be that an alive answer relies on.
	Bound time.Duration
	// Feed, if set, says up to when every end has been noted here. Without it
	// an answer is believed by its as-of alone.
	Feed interface{ Horizon() time.Time }
	// Heard, if set, hears how long after its end word of a session came from
	// elsewhere, and by what: "message" or "poll".
	Heard func(by string, after time.Duration)
	// Load limits one question to the next tier. 0 means 3 seconds.
	Load time.Duration
	// Now tells the time. nil means time.Now.
	Now func() time.Time
}

// A Tier remembers. Make one with [New].
type Tier struct {
	next   session.Store
	bound  time.Duration
	life   time.Duration // of an answer, from its as-of, while the horizon is fresh
	load   time.Duration
	feed   interface{ Horizon() time.Time }
	heard  func(by string, after time.Duration)
	now    func() time.Time
	cache  *otter.Cache[idworker.ID, *entry]
	loader otter.Loader[idworker.ID, *entry]
	ahead  chan struct{} // a token for each answer that is renewed ahead of time
	graves graves
}

var _ session.Store = (*Tier)(nil)

// An entry is a session, and what its row says of its last use, which moves on
// without the session being read anew.
type entry struct {
	session.Session
	seen  atomic.Int64 // Unix milliseconds
	used  atomic.Int64 // Unix milliseconds of the last use that was passed on
	renew atomic.Int64 // Unix milliseconds before which nobody tries to renew it
}

// usePause is how long uses of one session are not passed on after one was: many
// requests come before the row has the first.
const usePause = time.Second

func newEntry(s session.Session) *entry {
	e := &entry{Session: s}
	e.seen.Store(s.Seen.UnixMilli())
	return e
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
	t := &Tier{
		next: next, bound: o.Bound, life: o.Bound, load: o.Load, feed: o.Feed, heard: o.Heard, now: o.Now, cache: cache,
		ahead: make(chan struct{}, renewals),
	}
	if o.Feed != nil {
		t.life = session.Life(o.Bound)
	}
	// A slow load may come to rest after the end of its session was heard. It
	// is remembered until the as-of of such a load is too old, and some.
	t.graves.keep = 2*t.life + 2*o.Load + 30*time.Second
	t.loader = otter.LoaderFunc[idworker.ID, *entry](t.ask)
	return t, nil
}

// ask is one question to the next tier. An end that comes with the answer stays known
// here after the entry has been forgotten: Redis may still hold an answer from before
// the end, which was fresh enough to be believed.
func (t *Tier) ask(ctx context.Context, id idworker.ID) (*entry, error) {
	ctx, cancel := context.WithTimeout(ctx, t.load)
	defer cancel()
	s, err := t.next.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !s.Alive() {
		t.graves.add(t.now(), s.UserID, s.ID, s.Ended)
	}
	return newEntry(s), nil
}

// Close ends the goroutine of the cache. The tier must not be used any more.
func (t *Tier) Close() { t.cache.StopAllGoroutines() }

// Get answers from memory, or asks the next tier: once for all who ask at the
// same time.
func (t *Tier) Get(ctx context.Context, id idworker.ID) (session.Session, error) {
	if e, ok := t.cache.GetIfPresent(id); ok {
		if s, ok := t.believe(e); ok {
			if s.Source = session.FromMemory; !s.Horizon.IsZero() {
				t.renewAhead(id, e) //nolint:contextcheck // nobody waits for it
			}
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
//
// An answer that this process got from the database itself is as good as its
// as-of. Any other, or an older one, is alive if no end was heard of it up to a
// horizon that is young enough; its as-of may not be so old that the end has
// been forgotten again.
func (t *Tier) believe(e *entry) (session.Session, bool) {
	s := e.Session
	if !s.Alive() {
		return s, true
	}
	// Before the graves are looked at, so that they hold at least all that the
	// horizon stands for.
	var horizon time.Time
	if t.feed != nil {
		horizon = t.feed.Horizon()
	}
	if why, dead := t.graves.find(s.UserID, s.ID); dead {
		s.Ended = why
		return s, true
	}
	s.Seen = time.UnixMilli(e.seen.Load()).UTC()
	now := t.now()
	age := session.Age(now, s.AsOf)
	if age < t.bound && (s.Source == session.FromDatabase || t.feed == nil) {
		return s, true
	}
	s.Horizon = horizon
	return s, age < t.life && !horizon.IsZero() && session.Age(now, horizon) < t.bound
}

// Touch passes a use on. What is remembered stays as the row has it, until the
// row has taken the use: see [Tier.Written].
func (t *Tier) Touch(ctx context.Context, id idworker.ID, seen time.Time) error {
	if e, ok := t.cache.GetIfPresent(id); ok {
		at, ms := e.used.Load(), seen.UnixMilli()
		if (at <= ms && ms < at+usePause.Milliseconds()) || !e.used.CompareAndSwap(at, ms) {
			return nil
		}
	}
	return t.next.Touch(ctx, id, seen)
}

// Written is told when a session was last used by what its row says. The zero time
// says that the row has refused a use: what is remembered is forgotten, and asked
// for anew.
func (t *Tier) Written(id idworker.ID, seen time.Time) {
	e, ok := t.cache.GetIfPresent(id)
	switch {
	case !ok:
	case seen.IsZero():
		t.drop(id, e)
	default:
		for at, ms := e.seen.Load(), seen.UnixMilli(); at < ms; at = e.seen.Load() {
			if e.seen.CompareAndSwap(at, ms) {
				break
			}
		}
	}
}

// Hear refuses the session from now on, and passes the word on.
func (t *Tier) Hear(ctx context.Context, ended session.Session) error {
	t.graves.add(t.now(), ended.UserID, ended.ID, ended.Ended)
	return t.next.Hear(ctx, ended)
}

// Note refuses the session from now on and tells nobody: for word that came
// from another instance.
func (t *Tier) Note(ended session.Session) {
	now := t.now()
	if t.graves.add(now, ended.UserID, ended.ID, ended.Ended) && t.heard != nil {
		t.heard("message", session.Age(now, ended.AsOf))
	}
}

// Settled refuses a session that the rows have decided about here, and tells
// nobody.
func (t *Tier) Settled(ended session.Session) {
	t.graves.add(t.now(), ended.UserID, ended.ID, ended.Ended)
}

// Learn notes the ends that a poll of the database brought, and tells nobody.
func (t *Tier) Learn(news session.News) {
	now := t.now()
	for i := range news.Ends {
		e := &news.Ends[i]
		if t.graves.add(now, e.UserID, e.Floor, e.Reason) && t.heard != nil {
			t.heard("poll", news.Now.Sub(e.At))
		}
	}
}
