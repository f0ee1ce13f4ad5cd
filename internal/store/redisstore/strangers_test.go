package redisstore_test

import (
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// Who knows the IDs of others, and not one of their secrets, puts nothing into Redis: a Redis
// that is full would evict what holders need for it.
func TestForgedSecretsDisplaceNobody(t *testing.T) {
	const held, others = 50, 1000
	server, next := testenv.Redis(t), &fake{}
	for id := range idworker.ID(held + others) {
		if id%3 == 2 {
			next.set(gone(id+1, session.LoggedOut))
		} else {
			next.set(alive(id + 1))
		}
	}
	tier := open(t, server, next)
	holders := func() {
		for id := range idworker.ID(held) {
			if got, err := tier.Get(t.Context(), id+1, hashOf(id+1)); err != nil || got.Hash != hashOf(id+1) {
				t.Fatalf("session %v: %v", id+1, err)
			}
		}
	}
	holders()
	for id := range idworker.ID(held + others) {
		if got, err := tier.Get(t.Context(), id+1, session.Hash{}); err != nil || got.Hash != hashOf(id+1) {
			t.Fatalf("a stranger asks for session %v: %v", id+1, err)
		}
	}
	if keys, err := admin(t, server).Keys(t.Context(), "fp:s:*").Result(); err != nil || len(keys) != held {
		t.Errorf("%d sessions are in Redis, %v; want the %d whose holders have asked", len(keys), err, held)
	}
	asked := next.asked()
	holders()
	if lost := next.asked() - asked; lost > 0 {
		t.Errorf("%d sessions were displaced", lost)
	}
}
