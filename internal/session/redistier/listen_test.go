package redistier_test

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/session"
	"github.com/flakepass/flakepass/internal/session/memtier"
	"github.com/flakepass/flakepass/internal/session/redistier"
	"github.com/flakepass/flakepass/internal/testenv"
)

func TestEndReachesTheMemoryOfAnotherInstance(t *testing.T) {
	server := testenv.Redis(t)
	truth := &fake{}
	truth.set(alive(7))
	here := open(t, server, truth)
	there := instance(t, server, truth)
	if got, err := there.Get(t.Context(), 7); err != nil || !got.Alive() {
		t.Fatalf("Get there: ended %q, error %v", got.Ended, err)
	}
	if err := here.Hear(t.Context(), gone(7, session.LoggedOut)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, bound/2, func() bool {
		got, err := there.Get(t.Context(), 7)
		return err == nil && got.Ended == session.LoggedOut
	}, "the other instance refuses, long before its memory is too old")
}

func TestListenConnectsAgain(t *testing.T) {
	for how, cut := range map[string]func(*testing.T, *testenv.RedisServer){
		"connection cut": func(t *testing.T, server *testenv.RedisServer) {
			if err := admin(t, server).ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
				t.Fatal(err)
			}
		},
		"server killed": func(_ *testing.T, server *testenv.RedisServer) {
			server.Kill()
			server.Start()
		},
	} {
		t.Run(how, func(t *testing.T) {
			server := testenv.Redis(t)
			tier := open(t, server, &fake{})
			heard := listen(t, server, tier)
			cut(t, server)
			id := idworker.ID(100)
			testenv.Eventually(t, soon, func() bool {
				id++ // word that is spread meanwhile is lost, which the bound makes good
				_ = tier.Hear(t.Context(), gone(id, session.Revoked))
				return heard.has(id)
			}, "word comes through again")
		})
	}
}

func TestListenBelievesOnlyItsDeployment(t *testing.T) {
	server := testenv.Redis(t)
	tier := open(t, server, &fake{})
	heard := listen(t, server, tier)
	rdb := admin(t, server)
	for _, word := range [][]byte{
		{}, []byte("7"), make([]byte, 100), bytes.Repeat([]byte{255}, 70),
		encode(t, bytes.Repeat([]byte("x"), 32), gone(7, session.LoggedOut)),
		encode(t, secret, gone(7, session.LoggedOut))[1:],
		encode(t, secret, alive(7)), // well signed, and no end
	} {
		if err := rdb.Publish(t.Context(), redistier.Channel, word).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := tier.Hear(t.Context(), gone(8, session.LoggedOut)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, soon, func() bool { return heard.has(8) }, "the true word, sent last, is heard")
	if heard.has(7) || heard.has(0) {
		t.Errorf("heard %v, want 8 only", heard.all)
	}
}

// instance is the memory of another instance, which listens.
func instance(t *testing.T, server *testenv.RedisServer, next session.Store) *memtier.Tier {
	t.Helper()
	tier := open(t, server, next)
	near, err := memtier.New(tier, memtier.Options{Entries: 100, Bound: bound})
	if err != nil {
		t.Fatal(err)
	}
	run(t, server, func(ctx context.Context) { tier.Listen(ctx, near.Note) })
	return near
}

// run runs a listener until the test ends, and returns when it is subscribed.
func run(t *testing.T, server *testenv.RedisServer, listen func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { listen(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	rdb := admin(t, server)
	testenv.Eventually(t, soon, func() bool {
		return rdb.PubSubNumSub(ctx, redistier.Channel).Val()[redistier.Channel] > 0
	}, "somebody listens")
}

// An ear keeps what it heard.
type ear struct {
	mu  sync.Mutex
	all []idworker.ID
}

func listen(t *testing.T, server *testenv.RedisServer, tier *redistier.Tier) *ear {
	t.Helper()
	e := &ear{}
	run(t, server, func(ctx context.Context) {
		tier.Listen(ctx, func(s session.Session) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.all = append(e.all, s.ID)
		})
	})
	return e
}

func (e *ear) has(id idworker.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.all {
		if h == id {
			return true
		}
	}
	return false
}
