package redisstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// TestShortStallKeepsRedisInUse: many requests lose patience at once with a
// server that stands still for a moment, and the next are answered by it.
func TestShortStallKeepsRedisInUse(t *testing.T) {
	server := testenv.Redis(t)
	next := &fake{}
	next.set(alive(7))
	const attempts = 5 // on a machine that stands still itself a stall is not short
	for range attempts {
		var log testenv.Journal
		tier := open(t, server, next, func(o *redisstore.Options) { o.Log, o.Bound = logger(&log), time.Minute })
		mustGet(t, tier, 7, "")
		before := next.asked()
		server.Pause()
		var asks sync.WaitGroup
		for range 50 {
			asks.Go(func() { mustGet(t, tier, 7, "") })
		}
		asks.Wait()
		server.Resume()
		if next.asked() == before {
			t.Fatal("nobody lost patience with a server that stood still")
		}
		testenv.Eventually(t, soon, func() bool {
			before = next.asked()
			mustGet(t, tier, 7, "")
			return next.asked() == before
		}, "Redis answers")
		if log.Count("does not answer") == 0 {
			return
		}
	}
	t.Errorf("requests did without Redis after each of %d short stalls", attempts)
}

// stalledShard pauses one master of three and its replica, so that nobody takes
// over. What lies on the others is still told by Redis, although questions to
// the one that stands still go on.
func (g *group) stalledShard(t *testing.T, c *testenv.Cluster) {
	for _, node := range c.Nodes { // as operators set it who would rather have two shards than none
		node.Command("CONFIG SET cluster-require-full-coverage no")
	}
	long := func(o *redisstore.Options) { o.Bound = time.Minute }
	var log testenv.Journal
	next := &fake{}
	one, _ := g.open(t, next, long)
	other, _ := g.open(t, &fake{}, long, func(o *redisstore.Options) { o.Log = logger(&log) })
	victim := g.owner(redisstore.KeyOf(90_000))
	var there, elsewhere []idworker.ID
	for id := idworker.ID(90_000); len(there) < 20 || len(elsewhere) < 20; id++ {
		if c.Owner(redisstore.KeyOf(id)) == victim {
			there = append(there, id)
		} else {
			elsewhere = append(elsewhere, id)
		}
	}
	g.share(t, one, next, other, append(there[:20:20], elsewhere[:20]...)...)

	replica := c.Nodes[0]
	for i, node := range c.Nodes {
		if node == victim {
			replica = c.Nodes[(i+3)%6]
		}
	}
	victim.Pause()
	defer victim.Resume()
	replica.Pause()
	defer replica.Resume()
	ctx, cancel := context.WithCancel(t.Context())
	var asks sync.WaitGroup
	defer asks.Wait()
	defer cancel()
	for _, id := range there[:20] {
		asks.Go(func() {
			for ctx.Err() == nil {
				_, _ = other.Get(ctx, id, hashOf(id))
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	told, rounds := 0, 0
	for ; log.Count("does not answer") == 0 || rounds < 20; rounds++ {
		for _, id := range elsewhere[:20] {
			if got, err := other.Get(t.Context(), id, hashOf(id)); err == nil && got.Alive() {
				told++
			}
		}
		if rounds > 10_000 {
			t.Fatal("requests go on asking a server that does not answer")
		}
	}
	t.Logf("of %d questions to the other shards, Redis answered %d", rounds*20, told)
	if told < rounds*20*9/10 {
		t.Errorf("of %d questions to the other shards, Redis answered %d", rounds*20, told)
	}
	if log.Count("server=") != log.Count("server="+victim.Addr) {
		t.Errorf("the log blames others than %s\n%s", victim.Addr, log.String())
	}
}
