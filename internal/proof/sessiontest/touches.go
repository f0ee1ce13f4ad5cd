package sessiontest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/session"
)

func (w *world) settle(t *testing.T) {
	t.Helper()
	if w.Settle != nil {
		w.Settle(t)
	}
}

func touchNothing(t *testing.T, w *world) {
	id := w.mint(0)
	if err := w.Store.Touch(t.Context(), id, time.Now()); err != nil {
		t.Errorf("Touch of an unknown session: %v", err)
	}
	w.settle(t)
	if _, err := w.Store.Get(t.Context(), id, session.Hash{}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("Get of an unknown session that was touched: %v, want ErrNotFound", err)
	}
	l := w.user(t)
	s := w.end(t, l, session.LoggedOut)
	// Touched between the end and the word of it.
	if err := w.Store.Touch(t.Context(), l.id(), time.Now().Add(time.Hour)); err != nil {
		t.Errorf("Touch of an ended session: %v", err)
	}
	w.settle(t)
	w.hear(t, s)
	w.wantEnded(t, l, session.LoggedOut)
}

func touchForward(t *testing.T, w *world) {
	l := w.user(t)
	w.wantAlive(t, l)
	later := l.Session.Seen.Add(time.Minute)
	for _, at := range []time.Time{later, l.Session.Seen.Add(-time.Hour), later.Add(-time.Second)} {
		if err := w.Store.Touch(t.Context(), l.id(), at); err != nil {
			t.Fatalf("Touch: %v", err)
		}
		w.settle(t)
		got := w.wantAlive(t, l)
		// A memory in between may still say what it read before.
		if !got.Seen.Equal(later) && !got.Seen.Equal(l.Session.Seen) {
			t.Errorf("seen %v, want %v or still %v", got.Seen, later, l.Session.Seen)
		}
	}
	// What ended remains, so the store below can be asked for the truth.
	if s := w.end(t, l, session.LoggedOut); !s.Seen.IsZero() && !s.Seen.Equal(later) {
		t.Errorf("written: seen %v, want %v", s.Seen, later)
	}
}

func cancelled(t *testing.T, w *world) {
	l := w.user(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := w.Store.Get(ctx, l.id(), l.hash())
	if errors.Is(err, session.ErrNotFound) || (err == nil && !got.Alive()) {
		t.Errorf("Get of a living session by a caller who left: ended %q, error %v; want it alive, or undecided", got.Ended, err)
	}
	w.wantAlive(t, l)
	s := w.end(t, l, session.LoggedOut)
	if err := w.Store.Publish(ctx, s); err != nil && !errors.Is(err, session.ErrUnpublished) {
		t.Errorf("Publish by a caller who left: %v", err)
	}
	w.wantEnded(t, l, session.LoggedOut)
}

func notShared(t *testing.T, w *world) {
	l := w.user(t)
	got := w.wantAlive(t, l)
	got.Hash[1]++
	got.Username, got.Ended = "another user", session.Revoked
	again := w.wantAlive(t, l)
	if again.Username != l.Session.Username || again.Hash != l.Session.Hash {
		t.Error("a caller changed what the store holds")
	}
}

// concurrent logs users in and out while others ask, touch and pass ends on. What is
// asked for after its end was passed on is dead.
func concurrent(t *testing.T, w *world) {
	const users, rounds, askers = 3, 8, 4
	var all sync.WaitGroup
	for range users {
		user, _ := w.AddUser(t)
		var mu sync.Mutex
		var now login
		var over []session.Session
		done := make(chan struct{})
		all.Go(func() {
			defer close(done)
			for range rounds {
				l, err := w.begin(t.Context(), user, time.Now())
				if err != nil {
					t.Errorf("Begin: %v", err)
					return
				}
				for _, old := range l.Replaced {
					if err := w.Store.Publish(t.Context(), old); err != nil {
						t.Errorf("Publish: %v", err)
					}
				}
				mu.Lock()
				over = append(over, l.Replaced...)
				now = l
				mu.Unlock()
			}
		})
		for range askers {
			all.Go(func() {
				for more := true; more; {
					select {
					case <-done:
						more = false // once more
					default:
					}
					mu.Lock()
					l, dead := now, over
					mu.Unlock()
					if l.id() == 0 {
						continue
					}
					_, _ = w.Store.Get(t.Context(), l.id(), session.Hash{}) // a stranger, whose question others may join
					got, err := w.Store.Get(t.Context(), l.id(), l.hash())
					if err != nil && !errors.Is(err, session.ErrNotFound) {
						t.Errorf("Get: %v", err)
					}
					if err == nil && got.ID != l.id() {
						t.Errorf("Get of %v answered with %v", l.id(), got.ID)
					}
					if err := w.Store.Touch(t.Context(), l.id(), time.Now()); err != nil {
						t.Errorf("Touch: %v", err)
					}
					if len(dead) == 0 {
						continue
					}
					last := dead[len(dead)-1]
					if got, err := w.Store.Get(t.Context(), last.ID, last.Hash); err == nil && got.Alive() {
						t.Errorf("Get of %v: alive after its end was passed on", last.ID)
					}
					if err := w.Store.Publish(t.Context(), dead[0]); err != nil {
						t.Errorf("Publish: %v", err)
					}
				}
			})
		}
	}
	all.Wait()
}
