package redisstore_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// outages are the ways in which Redis goes away, and how it comes back.
var outages = map[string]struct{ begin, end func(*testenv.RedisServer) }{
	"stopped": {(*testenv.RedisServer).Stop, (*testenv.RedisServer).Start},
	"killed":  {(*testenv.RedisServer).Kill, (*testenv.RedisServer).Start},
	"paused":  {(*testenv.RedisServer).Pause, (*testenv.RedisServer).Resume},
}

func TestOutageCostsNoAnswer(t *testing.T) {
	for how, outage := range outages {
		t.Run(how, func(t *testing.T) {
			server := testenv.Redis(t)
			next := &fake{}
			var log testenv.Journal
			unpublished := 0
			tier := open(t, server, next, func(o *redisstore.Options) {
				o.Log, o.Unpublished = logger(&log), func(context.Context, error) { unpublished++ }
			})
			for id := range idworker.ID(20) {
				next.set(alive(id + 1))
			}
			mustGet(t, tier, 1, "")
			outage.begin(server)
			for id := range idworker.ID(10) {
				mustGet(t, tier, id+1, "")
			}
			if n := log.Count("does not answer"); n != 1 {
				t.Errorf("%d log lines for one outage, want 1", n)
			}
			if err := tier.Publish(t.Context(), gone(2, session.LoggedOut)); !errors.Is(err, session.ErrUnpublished) {
				t.Errorf("Publish: %v, want ErrUnpublished", err)
			}
			if len(next.received) != 1 || unpublished != 1 {
				t.Errorf("the tiers behind received %d ends, %d counted as unpublished; want 1 and 1", len(next.received), unpublished)
			}
			mustGet(t, tier, 2, session.LoggedOut)
			if _, err := tier.Get(t.Context(), 99, hashOf(99)); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("Get of an unknown session: %v, want ErrNotFound", err)
			}

			outage.end(server)
			// The first end after it is told, although requests may still do
			// without Redis.
			testenv.Eventually(t, soon, func() bool {
				return tier.Publish(t.Context(), gone(3, session.Revoked)) == nil
			}, "an end is told again")
			mustGet(t, open(t, server, &fake{}), 3, session.Revoked)
			testenv.Eventually(t, soon, func() bool {
				mustGet(t, tier, 4, "")
				return log.Count("answers again") == 1
			}, "the log says that Redis is back")
			before := next.asked()
			testenv.Eventually(t, soon, func() bool {
				before = next.asked()
				mustGet(t, tier, 5, "")
				return next.asked() == before
			}, "Redis answers again")
		})
	}
}

// TestOpenBreakerLeavesRedisAlone counts what is sent to a Redis that stands
// still.
func TestOpenBreakerLeavesRedisAlone(t *testing.T) {
	server := testenv.Redis(t)
	next := &fake{}
	next.set(alive(7))
	tier, rdb := openClient(t, server, next)
	server.Pause()
	defer server.Resume()
	var sent tap
	for range 3 {
		mustGet(t, tier, 7, "")
	}
	rdb.AddHook(&sent)
	const asks = 5000
	for range asks {
		mustGet(t, tier, 7, "")
	}
	if n := len(sent.all()); n > asks/100 {
		t.Errorf("%d commands for %d questions to a Redis that does not answer", n, asks)
	}
}

// TestRequestDoesNotWaitForTheClient holds back every command within the
// client, whose own timeouts are longer than a request may wait, and come one
// after the other. Whoever waits for the command waits for ever here.
func TestRequestDoesNotWaitForTheClient(t *testing.T) {
	server := testenv.Redis(t)
	next := &fake{}
	next.set(alive(7))
	tier, rdb := openClient(t, server, next)
	held := gate{make(chan struct{})}
	rdb.AddHook(held)
	defer close(held.open)
	for range 10 {
		mustGet(t, tier, 7, "")
	}
}

func TestCallerWhoLeavesIsNoFailureOfRedis(t *testing.T) {
	server := testenv.Redis(t)
	next := &fake{}
	next.set(alive(7))
	var log testenv.Journal
	tier := open(t, server, next, func(o *redisstore.Options) { o.Log = logger(&log) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		_, _ = tier.Get(ctx, 7, hashOf(7))
	}
	if log.Count("does not answer") != 0 {
		t.Error("callers who left made Redis count as down")
	}
}

func TestNothingRunsOnAfterTheClientIsClosed(t *testing.T) {
	server := testenv.Redis(t)
	before := goleak.IgnoreCurrent()
	rdb := redisstore.Open(redisstore.Server{Addrs: []string{server.Addr}})
	tier, err := redisstore.NewSessions(rdb, &fake{}, redisstore.Options{Key: secret, Bound: bound})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tier.Listen(ctx, func(session.Session) {})
	}()
	_, _ = tier.Get(ctx, 7, hashOf(7))
	cancel()
	<-done
	if err := rdb.Close(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
}
