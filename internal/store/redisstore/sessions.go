// Package redisstore is what all instances share in Redis: [Sessions], a
// [session.Store] in front of another, and [Buckets], where attempts are counted.
//
// An alive session is kept for half of an answer's life, and is put there with SET NX,
// so that a slow reader never writes over the tombstone of a session that ended
// meanwhile. A tombstone outlives every alive value that could still be under way.
// Redis that is down, slow, empty or full of foreign values costs speed, not answers.
package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Options says how the shared memory is kept.
type Options struct {
	// Key signs values; all instances of a deployment have the same. At least
	// 32 bytes.
	Key []byte
	// Number is that of the database in Redis. Redis hands a message to those who listen in any of
	// its databases, and a copy of a deployment, such as one for staging, has the key too: so each
	// number has a key of its own.
	Number int
	// Bound is how old the knowledge may be that an alive answer relies on.
	Bound time.Duration
	// Feed, if set, says whether this instance knows every end up to
	// less than Bound ago. While it has, a value is believed, and shared, for
	// half of an answer's life; while it has not, no value is. Without a feed a
	// value is believed for Bound, counted from its as-of.
	Feed interface{ Fresh() bool }
	// Skew is how far the clocks of two instances may be apart. A value from
	// further in the future is not believed. 0 means 2 seconds.
	Skew time.Duration
	// Now is the clock. nil means time.Now.
	Now func() time.Time
	// Unpublished, if set, is called for every end that could not be written to Redis.
	Unpublished func(context.Context, error)
	// Foreign, if set, is called for every value that this deployment did not write.
	Foreign func(context.Context)
	// Listening, if set, is called with true whenever Listen begins to receive ends,
	// and with false when it no longer does.
	Listening func(bool)
	// Gap, if set, is called whenever Listen begins to receive ends: those since that
	// time, by this process's clock, may be missing. Nothing alive is believed past
	// the bound in any case; who has another source reads them from there. Listen
	// waits until it returns.
	Gap func(since time.Time)
	// Log gets a line when Redis goes away and comes back, and for foreign values.
	Log *slog.Logger
}

// A Redis is what the tier needs of Redis: a server, a group of them, or a
// simulation. Get fails with [redis.Nil] itself if there is no value; Fill leaves a value
// that is there; End replaces it by a tombstone and tells all who listen, in one step.
type Redis interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Fill(ctx context.Context, key string, value []byte, ttl time.Duration) error
	End(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// Sessions shares them. Make one with [NewSessions].
type Sessions struct {
	Options
	next      session.Store
	redis     Redis
	rdb       redis.UniversalClient // nil in a simulation
	codec     codec
	life      time.Duration             // of a value, from its as-of
	tombstone time.Duration             // the life of one, from when it is put up
	doubt     atomic.Pointer[time.Time] // see Doubt
	renames   session.Renames
}

var _ session.Store = (*Sessions)(nil)

// channel carries ends to all instances.
const channel = "fp:ended"

func keyOf(id idworker.ID) string {
	text, _ := id.AppendText(append(make([]byte, 0, 24), "fp:s:"...)) // never fails
	return string(text)
}

// NewSessions returns a tier in front of next. It does not talk to Redis yet.
func NewSessions(rdb redis.UniversalClient, next session.Store, o Options) (*Sessions, error) {
	c := &client{rdb: rdb, nodes: newNodes(rdb, cmp.Or(o.Log, slog.New(slog.DiscardHandler)))}
	t, err := NewSessionsOver(c, next, o)
	if err != nil {
		return nil, err
	}
	t.rdb = rdb
	return t, nil
}

// NewSessionsOver is [NewSessions] over anything that keeps the promise of [Redis]. What it
// returns does not listen by itself: see [Sessions.DecodeEnd].
func NewSessionsOver(r Redis, next session.Store, o Options) (*Sessions, error) {
	if len(o.Key) < 32 || o.Bound <= 0 {
		return nil, errors.New("redisstore: needs a key of 32 bytes and a bound above 0")
	}
	o.Skew, o.Log = cmp.Or(o.Skew, 2*time.Second), cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	t := &Sessions{Options: o, next: next, redis: r, codec: newCodec(keyFor(o.Key, o.Number)), life: o.Bound}
	t.Key = nil // the codec has it
	// A tombstone stays longer than any alive value can, plus the time that a
	// fill may take, plus the difference of two clocks.
	t.tombstone = 2*session.Life(o.Bound) + 30*time.Second + 2*o.Skew
	if o.Feed != nil {
		// The other half is for the memory that it ends up in.
		t.life = session.Life(o.Bound) / 2
	}
	return t, nil
}

// Get answers from Redis, or asks the next tier and shares the answer with the other instances, if
// it is asked about by the token.
func (t *Sessions) Get(ctx context.Context, id idworker.ID, shown session.Hash) (session.Session, error) {
	key := keyOf(id)
	value, err := t.redis.Get(ctx, key)
	if err == nil {
		s, bad := t.codec.decode(key, id, value)
		switch {
		case bad != nil:
			t.Log.WarnContext(ctx, "redis holds a foreign value; not believed", "session_id", id)
			if t.Foreign != nil {
				t.Foreign(ctx)
			}
		case !s.Alive() || t.fresh(&s):
			return s, nil
		}
	}
	s, missing := t.next.Get(ctx, id, shown)
	if missing != nil || !absent(err) {
		// Nothing is shared that was not known to be absent: Redis is down, or
		// holds what SET NX would not replace.
		return s, missing
	}
	if s.Hash.Equal(&shown) {
		t.share(ctx, key, &s)
	}
	return s, nil
}

// fresh reports whether a value may be believed, and ties its as-of to this
// process's own clock, which runs on evenly when the clock on the wall is set: from
// here on the value ages, whatever that one shows.
func (t *Sessions) fresh(s *session.Session) bool {
	now := t.Now()
	age := session.Age(now, s.AsOf)
	s.AsOf, s.Source = now.Add(-max(age, 0)), session.FromRedis
	if d := t.doubt.Load(); d != nil && session.Age(now, *d) < t.life+t.Skew {
		return false
	}
	if at, renamed := t.renames.Of(s.UserID); renamed && session.Age(now, at) < t.life+t.Skew {
		return false // as with a doubt
	}
	return age < t.life && age > -t.Skew && (t.Feed == nil || t.Feed.Fresh())
}

// Doubt lets no value be believed that may be as of now or before: it was judged by a policy
// that allowed more sessions a user. The clock of whoever wrote it may be ahead, so its as-of
// proves nothing. But it is gone when its time to live is over.
func (t *Sessions) Doubt() {
	now := t.Now()
	t.doubt.Store(&now)
}

// ApplyPoll lets no value of a user be believed who was renamed, for as long as one with the
// old name may be there: also one that a slow reader on another instance puts there later.
func (t *Sessions) ApplyPoll(news session.News) {
	if !t.renames.Add(news.Renames, t.Now(), t.life+t.Skew) {
		t.Doubt()
	}
}

// share puts an answer into Redis for as long as it may be believed.
func (t *Sessions) share(ctx context.Context, key string, s *session.Session) {
	ttl := t.life - session.Age(t.Now(), s.AsOf)
	if !s.Alive() {
		ttl = t.tombstone
	}
	if ttl < time.Millisecond {
		return // Redis would keep a value without a time to live for ever
	}
	value, err := t.codec.encode(key, s)
	if err != nil {
		return
	}
	// The request that found it out does not fail for it.
	_ = t.redis.Fill(ctx, key, value, ttl)
}

// Touch passes on: a time of last use that lies in Redis may be old, which
// its reader has to allow for, and no request writes to Redis for it.
func (t *Sessions) Touch(ctx context.Context, id idworker.ID, seen time.Time) error {
	return t.next.Touch(ctx, id, seen)
}

// Publish writes the tombstones and publishes to all instances, before it passes the
// ends to the next tier.
// It tries even while requests do without Redis: an end is worth the wait, and
// the first to reach a Redis that has just come back may be this one. The ends wait side
// by side: while Redis hangs, many take no longer than one.
func (t *Sessions) Publish(ctx context.Context, ended ...session.Session) error {
	failed := make([]error, len(ended))
	var all sync.WaitGroup
	for i := range ended {
		all.Go(func() { failed[i] = t.end(ctx, &ended[i]) })
	}
	all.Wait()
	if behind := t.next.Publish(ctx, ended...); behind != nil {
		return behind
	}
	for _, err := range failed {
		if err != nil && t.Unpublished != nil {
			t.Unpublished(ctx, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("redisstore: %w: %w", session.ErrUnpublished, err)
	}
	return nil
}

func (t *Sessions) end(ctx context.Context, ended *session.Session) error {
	key := keyOf(ended.ID)
	value, err := t.codec.encode(key, ended)
	if err != nil {
		return err
	}
	return t.redis.End(ctx, key, value, t.tombstone)
}
