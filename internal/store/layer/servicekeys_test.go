package layer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/layer"
)

// keyRows answer about the key 7, as of now.
type keyRows struct {
	err  error
	amid func() // while the row is read
}

func (k keyRows) Find(_ context.Context, id idworker.ID) (servicekey.Held, error) {
	if k.amid != nil {
		k.amid()
	}
	if k.err == nil && id != 7 {
		return servicekey.Held{}, servicekey.ErrNotFound
	}
	return servicekey.Held{Key: servicekey.Key{ID: id}, AsOf: time.Now()}, k.err
}

func (keyRows) Used(context.Context, idworker.ID, time.Time) error { return nil }

// TestKeyIsAsOfTheLastPoll, where the server may have been replaced since; and undecided,
// also that there is no such key, where no poll has proven the server.
func TestKeyIsAsOfTheLastPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		poll, proven := time.Now().Add(-800*time.Millisecond), true
		k := &layer.ServiceKeys{Rows: keyRows{}, Slots: layer.NewReadSlots(nil, 4), Decided: func() (time.Time, bool) { return poll, proven }}
		if got, err := k.Find(t.Context(), 7); err != nil || !got.AsOf.Equal(poll) {
			t.Errorf("as of %v, %v; want the poll, %v", got.AsOf, err, poll)
		}
		poll = time.Now().Add(time.Second) // it began after the question
		if got, err := k.Find(t.Context(), 7); err != nil || !got.AsOf.Equal(time.Now()) {
			t.Errorf("as of %v, %v; want the question", got.AsOf, err)
		}
		if _, err := k.Find(t.Context(), 8); !errors.Is(err, servicekey.ErrNotFound) {
			t.Errorf("no such key: %v", err)
		}
		// A server that was replaced lacks a key that was made since.
		then := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(then)) //nolint:forbidigo // in a bubble, which begins before the first ID there is
		k.Polled = func() time.Time { return then }
		if _, err := k.Find(t.Context(), idworker.Default().Smallest(then)); !errors.Is(err, layer.ErrMayLack) {
			t.Errorf("no such key, and it may be new: %v", err)
		}
		for what, id := range map[string]idworker.ID{"old": 8, "of the future": idworker.Default().Smallest(then.Add(time.Minute))} {
			if _, err := k.Find(t.Context(), id); !errors.Is(err, servicekey.ErrNotFound) {
				t.Errorf("no such key, and it would be %s: %v", what, err)
			}
		}
		proven = false
		for _, id := range []idworker.ID{7, 8} {
			if _, err := k.Find(t.Context(), id); !errors.Is(err, layer.ErrUnproven) {
				t.Errorf("%v, unproven: %v", id, err)
			}
		}
		proven, k.Rows = true, keyRows{err: errors.New("the database is away")}
		if _, err := k.Find(t.Context(), 7); err == nil || errors.Is(err, servicekey.ErrNotFound) {
			t.Errorf("away: %v", err)
		}
	})
}

// TestKeyIsAsOfAPollBeforeTheQuestion: a poll that ends while the row is read may be the first on the server that
// took over, and says nothing about the one that answers.
func TestKeyIsAsOfAPollBeforeTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		was, proven := time.Now().Add(-3*time.Second), true
		poll := was
		k := &layer.ServiceKeys{Slots: layer.NewReadSlots(nil, 4), Decided: func() (time.Time, bool) { return poll, proven }}
		k.Rows = keyRows{amid: func() { poll = time.Now().Add(time.Second) }}
		if got, err := k.Find(t.Context(), 7); err != nil || !got.AsOf.Equal(was) {
			t.Errorf("as of %v, %v; want the poll before, %v", got.AsOf, err, was)
		}
		for _, late := range []bool{true, false} {
			proven = !late
			k.Rows = keyRows{amid: func() { proven = late }}
			if _, err := k.Find(t.Context(), 7); !errors.Is(err, layer.ErrUnproven) {
				t.Errorf("proven only afterwards: %v; %v", late, err)
			}
		}
	})
}

// TestKeysTakeTheSlotsOfSessions: so that both together leave connections free.
func TestKeysTakeTheSlotsOfSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &slow{answer: make(chan struct{})}
		slots := layer.NewReadSlots(next, 1)
		go func() { _, _ = slots.Get(context.Background(), 1, session.Hash{}) }()
		synctest.Wait()
		k := &layer.ServiceKeys{Rows: keyRows{}, Slots: slots, Decided: func() (time.Time, bool) { return time.Now(), true }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := k.Find(ctx, 7); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a slot: %v", err)
		}
		close(next.answer)
		synctest.Wait()
		if _, err := k.Find(t.Context(), 7); err != nil {
			t.Errorf("with a slot: %v", err)
		}
	})
}
