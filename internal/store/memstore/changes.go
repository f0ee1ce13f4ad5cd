package memstore

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// usePause is how long uses of one session are not passed on after one was: many
// requests come before the row has the first.
const usePause = time.Second

// Touch passes a use on. What is remembered stays as the row has it, until the
// row has taken the use: see [Sessions.Written].
func (t *Sessions) Touch(ctx context.Context, id idworker.ID, seen time.Time) error {
	if e, ok := t.cache.GetIfPresent(id); ok {
		at, ms := e.used.Load(), seen.UnixMilli()
		if (at <= ms && ms < at+usePause.Milliseconds()) || !e.used.CompareAndSwap(at, ms) {
			return nil
		}
	}
	return t.next.Touch(ctx, id, seen)
}

// Written takes over when a session was last used by what its row says. The zero time
// says that the row has refused a use: what is remembered is forgotten, and asked
// for anew.
func (t *Sessions) Written(id idworker.ID, seen time.Time) {
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

// Publish refuses the session from now on, and passes the end on.
func (t *Sessions) Publish(ctx context.Context, ended session.Session) error {
	t.tombstones.add(t.now(), ended.UserID, ended.ID, ended.Ended)
	return t.next.Publish(ctx, ended)
}

// ApplyEnd refuses the session from now on and does not pass that on: for messages of
// other instances.
func (t *Sessions) ApplyEnd(ended session.Session) {
	now := t.now()
	if t.tombstones.add(now, ended.UserID, ended.ID, ended.Ended) && t.arrived != nil {
		t.arrived("message", session.Age(now, ended.AsOf))
	}
}

// ApplySettled refuses a session that the rows have decided about here, and does not pass
// that on.
func (t *Sessions) ApplySettled(ended session.Session) {
	t.tombstones.add(t.now(), ended.UserID, ended.ID, ended.Ended)
}

// ApplyPoll refuses the sessions whose ends a poll of the database brought, and does not
// pass that on.
func (t *Sessions) ApplyPoll(news session.News) {
	now := t.now()
	for i := range news.Ends {
		e := &news.Ends[i]
		if t.tombstones.add(now, e.UserID, e.Floor, e.Reason) && t.arrived != nil {
			t.arrived("poll", news.Now.Sub(e.At))
		}
	}
}
