package memstore

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// loaded asks the next tier, once for all who ask at the same time. It keeps an answer only for a
// caller who holds the token. A holder of the token may have waited for the question of a
// stranger. Then the holder keeps the answer. Otherwise strangers who ask all the time could
// prevent that it is ever kept.
func (t *Sessions) loaded(ctx context.Context, id idworker.ID, shown session.Hash) (*entry, error) {
	e, err := t.cache.Get(ctx, id, otter.LoaderFunc[idworker.ID, *entry](func(ctx context.Context, id idworker.ID) (*entry, error) {
		return t.ask(ctx, id, shown)
	}))
	s, ok := err.(stranger) //nolint:errorlint // the cache wraps nothing
	if !ok {
		return e, err
	}
	if s.e.hash.Equal(&shown) {
		var held session.Session
		s.e.session(id, &held)
		t.learn(&held)
		s.e, _ = t.cache.SetIfAbsent(id, s.e)
	}
	return s.e, nil
}

// A stranger is an answer that must not be kept: who asked knows the ID, and not the token.
type stranger struct{ e *entry }

func (stranger) Error() string { return "memstore: asked without the token" }

// ask is one question to the next tier, about a token with that hash. If the session has another
// hash, ask fails with a [stranger]. ask has no time limit of its own, because a timer here would
// cost more than a question to Redis: the next tier has to limit the time.
func (t *Sessions) ask(ctx context.Context, id idworker.ID, shown session.Hash) (*entry, error) {
	s, err := t.next.Get(ctx, id, shown)
	if err != nil {
		return nil, err
	}
	e := t.kinds.entry(s)
	if !e.hash.Equal(&shown) {
		return nil, stranger{e}
	}
	t.learn(&s)
	return e, nil
}

// learn is called with every answer that is kept. An end in it stays known here after the entry has
// been forgotten: Redis may still hold an answer from before the end, which was fresh enough to be
// believed.
func (t *Sessions) learn(s *session.Session) {
	if !s.Alive() {
		t.tombstones.add(t.Now(), s.End())
	}
}

// renewals is how many answers are renewed ahead of time at once.
const renewals = 16

// renewAhead asks anew for what is in use and past half of its life, while it
// still answers: no caller waits for it, and when the database goes away, what was
// in use has at least half of its life left.
func (t *Sessions) renewAhead(id idworker.ID, e *entry, now time.Time) {
	if now.Sub(e.asOf) < t.life/2 {
		return
	}
	// Once a second, also if that fails. 32 bits are enough until the year 2106.
	last, second := e.renewed.Load(), uint32(now.Unix())
	if last == second || !e.renewed.CompareAndSwap(last, second) {
		return
	}
	select {
	case t.ahead <- struct{}{}:
	default:
		return // enough are under way; there is time
	}
	go func() {
		defer func() { <-t.ahead }()
		fresh, err := t.ask(context.Background(), id, e.hash)
		if err != nil {
			return // it answers on, for as long as it may
		}
		t.cache.ComputeIfPresent(id, func(held *entry) (*entry, otter.ComputeOp) {
			if held != e || (fresh.kind.ended == "" && !fresh.asOf.After(e.asOf)) {
				return held, otter.CancelOp
			}
			if seen := e.seen.Load(); seen > fresh.seen.Load() {
				fresh.seen.Store(seen)
			}
			return fresh, otter.WriteOp
		})
	}()
}
