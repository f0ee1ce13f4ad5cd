package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// hung is a Redis that takes every end and answers none.
type hung struct{ *kept }

const hangs = 500 * time.Millisecond

func (h hung) End(ctx context.Context, _ string, _ []byte, _ time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, hangs)
	defer cancel()
	<-ctx.Done()
	return ctx.Err()
}

// TestEndsOfOneUserWaitForRedisTogether: "Redis is down, or hangs: logouts are answered 202, up to half a second
// later", also one of a user who has as many sessions as a policy allows. Meanwhile this instance refuses all of them.
func TestEndsOfOneUserWaitForRedisTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next, unpublished := &fake{}, 0
		tier, err := redisstore.NewSessionsOver(hung{&kept{of: map[string]value{}}}, next, redisstore.Options{
			Key: secret, Bound: bound, Unpublished: func(context.Context, error) { unpublished++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		near, err := memstore.NewSessions(tier, memstore.Options{Entries: 100, Bound: bound})
		if err != nil {
			t.Fatal(err)
		}
		defer near.Close()
		var ended []session.Session
		for i := range idworker.ID(session.MaxSlots) {
			s := gone(7+i, session.LoggedOut)
			s.UserID, s.Slot = 1000, session.Slot(i)
			ended = append(ended, s)
			s.Ended = ""
			next.set(s)
		}
		start, done := time.Now(), make(chan error, 1)
		go func() { done <- near.Publish(t.Context(), ended...) }()
		synctest.Wait()
		for _, s := range ended {
			if got, err := near.Get(t.Context(), s.ID, hashOf(s.ID)); err != nil || got.Alive() {
				t.Errorf("session %v while Redis hangs: alive %v, %v", s.ID, got.Alive(), err)
			}
		}
		if err := <-done; !errors.Is(err, session.ErrUnpublished) {
			t.Errorf("Publish: %v, want ErrUnpublished", err)
		}
		if took := time.Since(start); took != hangs {
			t.Errorf("took %v, want %v", took, hangs)
		}
		if len(next.received) != len(ended) || unpublished != len(ended) {
			t.Errorf("the tiers behind received %d ends, %d counted as unpublished; want %d", len(next.received), unpublished, len(ended))
		}
	})
}
