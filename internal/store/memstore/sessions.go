// Package memstore is what this process remembers: [Sessions], a [session.Store] in
// front of another, and [Buckets], where attempts are counted.
//
// Every answer about a session passes here, and is given only if one of two things is
// younger than the bound: the database read that this process made for it, or the
// horizon up to which this process knows of every end. A session whose end is known it
// refuses at once, also when a slow reader brings back, later, an answer from before
// the end.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Options says how large the memory is and how long it is believed.
type Options struct {
	// Entries is how many sessions are remembered at most; about 220 bytes each.
	Entries int
	// Bound is how old the knowledge may be that an alive answer relies on.
	Bound time.Duration
	// Feed, if set, says up to when every end has been noted here. Without it
	// an answer is believed by its as-of alone.
	Feed interface{ Horizon() time.Time }
	// Replaceable, if set, says whether the database is a server that another one may have
	// replaced without its reads showing that. Then a read alone makes no answer good: its server
	// has decided at the last poll, and may not have since.
	Replaceable *atomic.Bool
	// Arrived, if set, is called with the time from the end of a session until its end
	// became known here, and by what it did: "message" or "poll".
	Arrived func(by string, after time.Duration)
	// Now is the clock. nil means time.Now.
	Now func() time.Time
}

// Sessions remembers them. Make one with [NewSessions].
type Sessions struct {
	Options
	next       session.Store
	began      time.Time
	life       time.Duration             // of an answer, from its as-of, while the horizon is fresh
	doubt      atomic.Pointer[time.Time] // no alive answer as of then or before is believed
	cache      *otter.Cache[idworker.ID, *entry]
	kinds      kinds
	ahead      chan struct{} // a token for each answer that is renewed ahead of time
	tombstones tombstones
	renames    session.Renames
}

var _ session.Store = (*Sessions)(nil)

// An entry is a session without its ID, under which it is kept, and what its row says of its
// last use, which moves on without the session being read anew. There may be a million: what
// many have in common is in their kind. The order of the fields leaves no gaps.
type entry struct {
	user     idworker.ID
	username string
	kind     *kind
	asOf     time.Time    // whole: its age counts by both clocks
	seen     atomic.Int64 // Unix milliseconds
	used     atomic.Int64 // Unix milliseconds of the last use that was passed on
	hash     session.Hash
	slot     session.Slot
	source   session.Source
	before   bool
	renewed  atomic.Uint32 // the Unix second of the last attempt to renew it
}

// A kind is what most sessions have in common.
type kind struct {
	role    string
	device  *session.Device
	ended   session.Reason
	act     idworker.ID
	auth    *session.Auth
	endedAt int64
	horizon time.Time
}

// kinds are those that were seen. There are few, as there are of roles and of classes of devices;
// a kind that is one session's alone is not among them.
type kinds struct{ known sync.Map }

func (k *kinds) entry(s session.Session) *entry {
	// A name is for lists, and no list asks here.
	is := kind{s.Role, s.Device.WithoutName(), s.Ended, s.Act, s.Auth, s.EndedAt, s.Horizon}
	e := &entry{
		user: s.UserID, username: s.Username, asOf: s.AsOf, hash: s.Hash, slot: s.Slot, source: s.Source, before: s.Before,
	}
	e.seen.Store(s.Seen.UnixMilli())
	if (is != kind{role: is.role, device: is.device, ended: is.ended}) {
		e.kind = &is
		return e
	}
	held, ok := k.known.Load(is)
	if !ok {
		held, _ = k.known.LoadOrStore(is, &is)
	}
	e.kind, _ = held.(*kind) // nothing else is stored
	return e
}

// session puts what e remembers of id into s.
func (e *entry) session(id idworker.ID, s *session.Session) {
	k := e.kind
	*s = session.Session{
		ID: id, UserID: e.user, Username: e.username, Role: k.role, Hash: e.hash, Before: e.before, Slot: e.slot,
		Source: e.source, Act: k.act, Device: k.device, Auth: k.auth, Seen: time.UnixMilli(e.seen.Load()).UTC(),
		Ended: k.ended, EndedAt: k.endedAt, AsOf: e.asOf, Horizon: k.horizon,
	}
}

var errStale = errors.New("the answer took longer than it may be believed")

// NewSessions returns a tier in front of next. It fails if o cannot be met.
func NewSessions(next session.Store, o Options) (*Sessions, error) {
	if o.Entries <= 0 || o.Bound <= 0 {
		return nil, fmt.Errorf("memstore: needs room and a bound above 0, not %d entries and %v", o.Entries, o.Bound)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	// Nothing here expires by the cache's own clock: every answer's age is looked
	// at as it is given, and what is not asked for makes room for what is.
	cache, err := otter.New(&otter.Options[idworker.ID, *entry]{
		MaximumSize: o.Entries,
		Executor:    func(clear func()) { clear() }, // who loads makes room, which takes less than to have a goroutine do it
	})
	if err != nil {
		return nil, fmt.Errorf("memstore: %w", err)
	}
	t := &Sessions{Options: o, next: next, began: o.Now(), life: o.Bound, cache: cache, ahead: make(chan struct{}, renewals)}
	if o.Feed != nil {
		t.life = session.Life(o.Bound)
	}
	// A slow load may return after the end of its session became known. The end is
	// remembered until the as-of of such a load is too old, and some longer.
	t.tombstones.keep = 2*t.life + 40*time.Second
	return t, nil
}

// Size is about how many sessions are remembered now. It waits for nothing, and
// may count some that make room at this moment.
func (t *Sessions) Size() int { return t.cache.EstimatedSize() }

// Close ends the goroutine of the cache. The tier must not be used any more.
func (t *Sessions) Close() { t.cache.StopAllGoroutines() }

// Get answers from memory, or asks the next tier: once for all who ask at the
// same time.
//
// A stranger, who does not have the token, gets what is remembered, however old that is. The hash
// of a session never changes, so such an answer is good for a refusal. So a stranger cannot make
// this tier ask again for a session that it remembers, nor make it forget the session.
//
// An end that is known is repeated also while the next tier cannot answer.
func (t *Sessions) Get(ctx context.Context, id idworker.ID, shown session.Hash) (session.Session, error) {
	var s session.Session
	e, known := t.cache.GetIfPresent(id)
	if known {
		now := t.Now()
		if t.believe(id, e, now, &s) {
			if s.Source = session.FromMemory; !s.Horizon.IsZero() {
				t.renewAhead(id, e, now) //nolint:contextcheck // nobody waits for it
			}
			return s, nil
		}
		if !e.hash.Equal(&shown) {
			return s, nil
		}
		t.drop(id, e)
	}
	// Two tries. The next tier may remember its answer, too. That answer may still be young enough
	// when the next tier gives it, and too old when it arrives here.
	for range 2 {
		fresh, err := t.loaded(ctx, id, shown)
		if err != nil {
			if known && !s.Alive() && !errors.Is(err, session.ErrNotFound) {
				t.cache.SetIfAbsent(id, e)
				return s, nil
			}
			return session.Session{}, err
		}
		if t.believe(id, fresh, t.Now(), &s) || !s.Alive() || !fresh.hash.Equal(&shown) {
			return s, nil
		}
		t.drop(id, fresh)
	}
	return session.Session{}, fmt.Errorf("memstore: %w", errStale)
}

// drop forgets e, and not what came in its place meanwhile: to invalidate an
// ID whose session is being loaded would make the cache load it once more for
// every caller that still holds e.
func (t *Sessions) drop(id idworker.ID, e *entry) {
	t.cache.ComputeIfPresent(id, func(held *entry) (*entry, otter.ComputeOp) {
		if held == e {
			return nil, otter.InvalidateOp
		}
		return held, otter.CancelOp
	})
}

// believe puts the session that e remembers of id into s. It reports whether e may be repeated at
// now, a time that was read after e was. Every answer passes here: no session is accepted whose
// end is known.
//
// An end is final, but not the name that is remembered with it: the user may be renamed, or
// deleted and purged. So an end is repeated for as long as an alive answer may be, too.
//
// An answer that this process itself has read from the database is good until its as-of is as old
// as the bound, unless another server may have replaced that one before the read. Any other answer,
// or an older one, needs a horizon that is young enough, and no
// end of its session may be known up to that horizon. Its as-of must not be so old that the end
// may have been forgotten again.
func (t *Sessions) believe(id idworker.ID, e *entry, now time.Time, s *session.Session) bool {
	e.session(id, s)
	// Before the tombstones are looked at, so that they hold at least all that the
	// horizon stands for.
	var horizon time.Time
	if t.Feed != nil {
		horizon = t.Feed.Horizon()
	}
	if why, dead := t.tombstones.find(s.UserID, s.Slot, s.ID); dead && s.Alive() {
		s.Ended = why
	}
	if at, renamed := t.renames.Of(s.UserID); renamed && !t.after(s, at) {
		return false // it may have the old name
	}
	age := session.Age(now, s.AsOf)
	if !s.Alive() {
		return age < t.life
	}
	if d := t.doubt.Load(); d != nil && !t.after(s, *d) {
		return false
	}
	proven := s.Source == session.FromDatabase && (t.Replaceable == nil || !t.Replaceable.Load())
	if age < t.Bound && (proven || t.Feed == nil) {
		return true
	}
	s.Horizon = horizon
	return age < t.life && !horizon.IsZero() && session.Age(now, horizon) < t.Bound
}
