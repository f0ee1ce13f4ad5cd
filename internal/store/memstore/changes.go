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

// Publish refuses the sessions from now on, and passes the ends on.
func (t *Sessions) Publish(ctx context.Context, ended ...session.Session) error {
	for i := range ended {
		t.tombstones.add(t.Now(), ended[i].End())
	}
	return t.next.Publish(ctx, ended...)
}

// ApplyEnd refuses the session from now on and does not pass that on: for messages of
// other instances.
func (t *Sessions) ApplyEnd(ended session.Session) {
	now := t.Now()
	if t.tombstones.add(now, ended.End()) && t.Arrived != nil {
		t.Arrived("message", session.Age(now, ended.AsOf))
	}
}

// ApplySettled refuses a session that the rows have decided about here, and does not pass
// that on.
func (t *Sessions) ApplySettled(ended session.Session) {
	t.tombstones.add(t.Now(), ended.End())
}

// ApplyPoll refuses the sessions whose ends a poll of the database brought, and does not
// pass that on. Sessions of users who were renamed are asked for anew.
func (t *Sessions) ApplyPoll(news session.News) {
	now := t.Now()
	if !t.renames.Add(news.Renames, now, t.life+otherClock) {
		t.Doubt()
	}
	for i := range news.Ends {
		e := &news.Ends[i]
		// An end from before this tier was sent to nobody here, so its age says nothing of messages.
		if after := news.Now.Sub(e.At); t.tombstones.add(now, *e) && t.Arrived != nil && after <= session.Age(now, t.began) {
			t.Arrived("poll", after)
		}
	}
}

// Doubt makes this tier believe no alive answer any more that is as of now or earlier. Such an
// answer was judged by a policy that allowed more sessions a user. Only the rows can say which of
// the sessions end.
func (t *Sessions) Doubt() {
	now := t.Now()
	t.doubt.Store(&now)
}

// otherClock is a margin for an answer that another instance has read: the clock of that instance
// may be ahead. Such an answer counts as later than d only if its as-of is later by otherClock.
const otherClock = 2 * time.Second

// after reports whether s is certainly as of a later time than d.
func (t *Sessions) after(s *session.Session, d time.Time) bool {
	if s.Source != session.FromDatabase {
		d = d.Add(otherClock)
	}
	return s.AsOf.After(d)
}
