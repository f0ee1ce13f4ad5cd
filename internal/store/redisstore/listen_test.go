package redisstore_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

func TestEndReachesTheMemoryOfAnotherInstance(t *testing.T) {
	server := testenv.Redis(t)
	truth := &fake{}
	truth.set(alive(7))
	here := open(t, server, truth)
	there := instance(t, server, truth)
	if got, err := there.Get(t.Context(), 7, hashOf(7)); err != nil || !got.Alive() {
		t.Fatalf("Get there: ended %q, error %v", got.Ended, err)
	}
	if err := here.Publish(t.Context(), gone(7, session.LoggedOut)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, soon, func() bool {
		got, err := there.Get(t.Context(), 7, hashOf(7))
		return err == nil && got.Ended == session.LoggedOut
	}, "the other instance refuses, though its memory is good for an hour")
}

func TestListenConnectsAgain(t *testing.T) {
	// Each returns a moment from which on nothing came through.
	for how, cut := range map[string]func(*testing.T, *testenv.RedisServer, *testenv.Journal) time.Time{
		"connection cut": func(t *testing.T, server *testenv.RedisServer, _ *testenv.Journal) time.Time {
			if err := admin(t, server).ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
				t.Fatal(err)
			}
			return time.Now()
		},
		"server killed": func(_ *testing.T, server *testenv.RedisServer, _ *testenv.Journal) time.Time {
			server.Kill()
			gone := time.Now()
			server.Start()
			return gone
		},
		"server paused": func(t *testing.T, server *testenv.RedisServer, log *testenv.Journal) time.Time {
			server.Pause()
			still := time.Now()
			testenv.Eventually(t, soon, func() bool { return log.Count("does not tell of endings") == 1 }, "the silence is noticed")
			server.Resume()
			return still
		},
	} {
		t.Run(how, func(t *testing.T) {
			server := testenv.Redis(t)
			var log testenv.Journal
			var told states
			tier := open(t, server, &fake{}, told.watch, func(o *redisstore.Options) { o.Log = logger(&log) })
			begun := time.Now()
			received := listen(t, server, tier)
			testenv.Eventually(t, soon, func() bool { return told.all() == "on " }, "it says that it listens")
			if gap := told.gap(0); gap.Before(begun) || gap.After(time.Now()) || log.String() != "" {
				t.Errorf("at the start: a gap since %v, begun at %v, log %q", gap, begun, log.String())
			}
			silent := cut(t, server, &log)
			id := idworker.ID(100)
			testenv.Eventually(t, soon, func() bool {
				id++ // word that is spread meanwhile is lost, which the bound makes good
				_ = tier.Publish(t.Context(), gone(id, session.Revoked))
				return received.has(id)
			}, "word comes through again")
			if told.all() != "on off on " {
				t.Errorf("was told %q, want that it listens, does not, and does again", told.all())
			}
			if gap := told.gap(1); gap.Before(begun) || gap.After(silent) {
				t.Errorf("a gap since %v; the cut was before %v", gap, silent)
			}
			lost, back := log.Count("does not tell of endings"), log.Count("tells of endings again")
			if lost != 1 || back != 1 || log.Count("after=") != 1 {
				t.Errorf("%d lines for the loss and %d for its end, want one each, with how long\n%s", lost, back, log.String())
			}
		})
	}
}

func TestListenBeforeThereIsRedis(t *testing.T) {
	server := testenv.Redis(t)
	server.Stop()
	var log testenv.Journal
	var told states
	tier := open(t, server, &fake{}, told.watch, func(o *redisstore.Options) { o.Log = logger(&log) })
	received := listenTo(t, tier)
	testenv.Eventually(t, soon, func() bool { return log.Count("does not tell of endings") == 1 }, "it says that it does not listen")
	if told.all() != "" {
		t.Errorf("was told %q: what never was is not lost", told.all())
	}
	server.Start()
	id := idworker.ID(100)
	testenv.Eventually(t, soon, func() bool {
		id++
		_ = tier.Publish(t.Context(), gone(id, session.Revoked))
		return received.has(id)
	}, "word comes through")
	if told.all() != "on " || log.Count("does not tell of endings") != 1 || log.Count("tells of endings again") != 1 {
		t.Errorf("was told %q, log\n%s", told.all(), log.String())
	}
}

// states are what a listener told of itself.
type states struct {
	mu   sync.Mutex
	text string
	gaps []time.Time
}

func (s *states) watch(o *redisstore.Options) {
	o.Listening = func(on bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.text += map[bool]string{true: "on ", false: "off "}[on]
	}
	o.Gap = func(since time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gaps = append(s.gaps, since)
	}
}

func (s *states) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

func (s *states) gap(n int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= len(s.gaps) {
		return time.Time{}
	}
	return s.gaps[n]
}

// Messages go to the listeners of all databases of a Redis, and a copy of a deployment has its key.
func TestListenBelievesOnlyItsDeployment(t *testing.T) {
	server := testenv.Redis(t)
	tier := open(t, server, &fake{})
	received := listen(t, server, tier)
	copied := open(t, server, &fake{}, func(o *redisstore.Options) { o.Number = 3 })
	there := listen(t, server, copied)
	if err := copied.Publish(t.Context(), gone(7, session.LoggedOut)); err != nil {
		t.Fatal(err)
	}
	rdb := admin(t, server)
	for _, word := range [][]byte{
		{}, []byte("7"), make([]byte, 100), bytes.Repeat([]byte{255}, 70),
		encode(t, bytes.Repeat([]byte("x"), 32), gone(7, session.LoggedOut)),
		encode(t, secret, gone(7, session.LoggedOut))[1:],
		encode(t, secret, alive(7)), // well signed, and no end
	} {
		if err := rdb.Publish(t.Context(), redisstore.Channel, word).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := tier.Publish(t.Context(), gone(8, session.LoggedOut)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, soon, func() bool { return received.has(8) }, "the true word, sent last, is received")
	if received.has(7) || received.has(0) {
		t.Errorf("received %v, want 8 only", received.all)
	}
	if err := copied.Publish(t.Context(), gone(9, session.LoggedOut)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, soon, func() bool { return there.has(9) }, "the copy receives its own, sent last")
	if there.has(8) || !there.has(7) {
		t.Errorf("the copy received %v, want 7 and 9", there.all)
	}
}

// instance is the memory of another instance, which listens.
func instance(t *testing.T, server *testenv.RedisServer, next session.Store) *memstore.Sessions {
	t.Helper()
	tier := open(t, server, next)
	near, err := memstore.NewSessions(tier, memstore.Options{Entries: 100, Bound: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	run(t, server, func(ctx context.Context) { tier.Listen(ctx, near.ApplyEnd) })
	return near
}

// run runs a listener until the test ends, and returns when it is subscribed.
func run(t *testing.T, server *testenv.RedisServer, listen func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	rdb := admin(t, server)
	listeners := func() int64 { return rdb.PubSubNumSub(ctx, redisstore.Channel).Val()[redisstore.Channel] }
	before := listeners()
	var running sync.WaitGroup
	running.Go(func() { listen(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	testenv.Eventually(t, soon, func() bool { return listeners() > before }, "one more listens")
}

// An inbox keeps what it received.
type inbox struct {
	mu  sync.Mutex
	all []idworker.ID
}

func listen(t *testing.T, server *testenv.RedisServer, tier *redisstore.Sessions) *inbox {
	t.Helper()
	e := &inbox{}
	run(t, server, func(ctx context.Context) {
		tier.Listen(ctx, func(s session.Session) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.all = append(e.all, s.ID)
		})
	})
	return e
}

func (e *inbox) has(id idworker.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.all {
		if h == id {
			return true
		}
	}
	return false
}
