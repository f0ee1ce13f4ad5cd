package layer_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/layer"
)

func TestNoMoreThanTheLimitAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &slow{answer: make(chan struct{})}
		slots := layer.NewReadSlots(next, 3)
		var all sync.WaitGroup
		for id := range idworker.ID(100) {
			all.Go(func() {
				// Deciding takes a connection as reading does.
				ask := slots.Get
				if id%2 == 1 {
					ask = func(ctx context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
						return slots.Settle(ctx, id, time.Time{})
					}
				}
				if s, err := ask(t.Context(), id, session.Hash{}); err != nil || s.ID != id {
					t.Errorf("asked for %v: %v, %v", id, s.ID, err)
				}
			})
		}
		synctest.Wait()
		if n := next.inside.Load(); n != 3 {
			t.Errorf("%d questions at once, want 3", n)
		}
		// What is not a question is not held up.
		if err := slots.Publish(t.Context(), session.Session{}); err != nil {
			t.Error(err)
		}
		close(next.answer)
		all.Wait()
		if n := next.most.Load(); n != 3 {
			t.Errorf("at most %d questions at once, want 3", n)
		}
	})
}

func TestWhatWaitsTooLongIsUndecidedAndLeavesItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &slow{answer: make(chan struct{})}
		slots := layer.NewReadSlots(next, 1)
		first := make(chan error, 1)
		go func() { _, err := slots.Get(context.Background(), 1, session.Hash{}); first <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := slots.Get(ctx, 2, session.Hash{})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, session.ErrNotFound) {
			t.Errorf("Get without a slot: %v, want the error of its context", err)
		}
		// Settling has slots of its own, and waits for no longer either, also for a
		// caller who has all the time in the world.
		settling := make(chan error, 2)
		for range 2 {
			go func() { _, err := slots.Settle(context.Background(), 2, time.Time{}); settling <- err }()
		}
		if err := <-settling; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second Settle: %v, want that there was no slot in time", err)
		}
		close(next.answer)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if _, err := slots.Get(t.Context(), 3, session.Hash{}); err != nil {
			t.Errorf("Get once there is a slot: %v", err)
		}
	})
}

// TestQuestionTakesNoLongerThanTheWaitForASlot: memory sets no limit, and renews answers
// for nobody who could leave.
func TestQuestionTakesNoLongerThanTheWaitForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots, start := layer.NewReadSlots(&hung{}, 1), time.Now()
		if _, err := slots.Get(context.Background(), 1, session.Hash{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v, want the end of the time for a question after 3s", time.Since(start), err)
		}
	})
}

// A hung store answers never.
type hung struct{ slow }

func (*hung) Get(ctx context.Context, _ idworker.ID, _ session.Hash) (session.Session, error) {
	<-ctx.Done()
	return session.Session{}, ctx.Err()
}

// A slow store answers when it is told to, and counts who asks.
type slow struct {
	answer       chan struct{}
	inside, most atomic.Int64
}

func (s *slow) Get(_ context.Context, id idworker.ID, _ session.Hash) (session.Session, error) {
	n := s.inside.Add(1)
	defer s.inside.Add(-1)
	for at := s.most.Load(); n > at && !s.most.CompareAndSwap(at, n); at = s.most.Load() {
	}
	<-s.answer
	return session.Session{ID: id}, nil
}

// Settle is Get, and takes the same time.
func (s *slow) Settle(ctx context.Context, id idworker.ID, _ time.Time) (session.Session, error) {
	return s.Get(ctx, id, session.Hash{})
}

func (*slow) Touch(context.Context, idworker.ID, time.Time) error { return nil }
func (*slow) Publish(context.Context, ...session.Session) error   { return nil }
