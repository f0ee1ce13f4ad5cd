package session_test

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A passive request gets the answer of any other, and leaves the login as it is.
func TestPassiveTouchesNothing(t *testing.T) {
	for _, since := range []time.Duration{0, time.Minute, time.Hour} {
		w := newWorld(t)
		seen := w.now.Add(-since)
		w.near.change(func(s *session.Session) { s.Seen = seen })
		got, err := w.service.Verify(flakepass.NewPassiveContext(t.Context()), w.token)
		if err != nil {
			t.Fatal(err)
		}
		w.wantCalls(t, "near.Get ")
		if !got.LastSeenAt.Equal(seen) || !got.IdleExpiresAt.Equal(seen.Add(w.rule().Idle)) {
			t.Errorf("seen %v ago: got %v and idle at %v, want the times of before", since, got.LastSeenAt, got.IdleExpiresAt)
		}
	}
}

// Near its end too: it is no use, so nothing has to be written, and the row is not
// locked for it.
func TestPassiveNearTheEndDoesNotLockTheRow(t *testing.T) {
	for _, left := range []time.Duration{time.Millisecond, 5 * time.Second} {
		w := newWorld(t)
		seen := w.now.Add(left - w.rule().Idle)
		for _, s := range []*store{w.near, &w.truth.store} {
			s.change(func(s *session.Session) { s.Seen = seen })
		}
		got, err := w.service.Verify(flakepass.NewPassiveContext(t.Context()), w.token)
		if err != nil || !got.LastSeenAt.Equal(seen) {
			t.Errorf("%v left: seen %v, error %v; want %v", left, got.LastSeenAt, err, seen)
		}
		w.wantCalls(t, "near.Get ")
	}
}

func TestPassiveIsRefusedAsAnyOther(t *testing.T) {
	w := newWorld(t)
	for _, s := range []*store{w.near, &w.truth.store} {
		s.change(func(s *session.Session) { s.Seen = w.now.Add(-w.rule().Idle) })
	}
	_, err := w.service.Verify(flakepass.NewPassiveContext(t.Context()), w.token)
	refusedWith(t, err, flakepass.ErrIdle)
	w.wantCalls(t, "near.Get truth.Settle ")
}
