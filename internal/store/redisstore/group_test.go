package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/sessiontest"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// A group is a Redis of several servers. All promises are kept by one group, for
// each takes seconds to start; a promise has sessions of its own.
type group struct {
	server  redisstore.Server
	servers []*testenv.RedisServer
	owner   func(key string) *testenv.RedisServer // the master of a key, once all is well
	await   func()                                // returns when all is well
	copies  int                                   // how many replicas a master has
}

func TestCluster(t *testing.T) { //nolint:tparallel // its promises share one group, and end its servers
	t.Parallel()
	c := testenv.RedisCluster(t)
	g := &group{
		// One node is enough to learn of the others. Behind it the slice has room,
		// into which clients must not all write what they learn.
		server: redisstore.Server{Addrs: c.Addrs()[:1], Cluster: true}, servers: c.Nodes,
		owner: c.Owner, await: c.Await, copies: 1,
	}
	t.Run("StalledShardDisablesNoOther", func(t *testing.T) { g.stalledShard(t, c) })
	c.Await()
	t.Run("SlotThatMovesIsFollowed", func(t *testing.T) { g.slotMoves(t, c) })
	g.promises(t)
}

func TestSentinel(t *testing.T) { //nolint:tparallel // its promises share one group, and end its servers
	t.Parallel()
	s := testenv.RedisSentinel(t)
	g := &group{
		server: redisstore.Server{Addrs: s.Addrs(), Master: s.Name}, servers: s.Servers,
		owner: func(string) *testenv.RedisServer { return s.Master() }, await: s.Await, copies: 2,
	}
	g.promises(t)
}

// promises are kept one after the other: the last end servers.
func (g *group) promises(t *testing.T) {
	t.Run("Store", func(t *testing.T) {
		_, rdb := g.open(t, &fake{})
		sessiontest.TestStack(t, func(t *testing.T) sessiontest.Stack {
			m := &sessiontest.Memory{}
			tier, err := redisstore.NewSessions(rdb, m, redisstore.Options{Key: secret, Bound: bound})
			if err != nil {
				t.Fatal(err)
			}
			return sessiontest.Stack{Store: tier, Writer: m, AddUser: m.AddUser}
		})
	})
	t.Run("CheckNamesTheTrouble", g.checked)
	t.Run("ManySessionsAtOnceAreShared", g.manyAtOnce)
	t.Run("TombstoneIsNotOverwrittenByALateFill", g.lateFill)
	t.Run("EndReachesOtherInstances", g.endReachesOthers)
	t.Run("LostMasterCostsNoAnswer", g.masterKilled)
	t.Run("LostGroupCostsNoAnswer", g.allKilled)
}

// open is one instance: a tier with a client of its own.
func (g *group) open(t *testing.T, next session.Store, change ...func(*redisstore.Options)) (*redisstore.Sessions, redis.UniversalClient) {
	t.Helper()
	rdb := redisstore.Open(g.server)
	t.Cleanup(func() { _ = rdb.Close() })
	o := redisstore.Options{Key: secret, Bound: bound}
	for _, c := range change {
		c(&o)
	}
	tier, err := redisstore.NewSessions(rdb, next, o)
	if err != nil {
		t.Fatal(err)
	}
	return tier, rdb
}

// share fails the test unless one instance's answers reach another, which has
// nobody else to ask. What it has to wait for is a client that has yet to find
// its server.
func (g *group) share(t *testing.T, one *redisstore.Sessions, next *fake, other *redisstore.Sessions, ids ...idworker.ID) {
	t.Helper()
	testenv.Eventually(t, soon, func() bool {
		var asks sync.WaitGroup
		for _, id := range ids {
			next.set(alive(id)) // as of now
			asks.Go(func() { _, _ = one.Get(t.Context(), id, hashOf(id)) })
		}
		asks.Wait()
		missing := make(chan idworker.ID, len(ids))
		for _, id := range ids {
			asks.Go(func() {
				if got, err := other.Get(t.Context(), id, hashOf(id)); err != nil || !got.Alive() || got.ID != id {
					missing <- id
				}
			})
		}
		asks.Wait()
		return len(missing) == 0
	}, "what one instance knows, another is told by Redis")
}

// ended fails the test unless an instance that has nobody else to ask comes to
// say that a session has ended.
func ended(t *testing.T, silent *redisstore.Sessions, id idworker.ID, why session.Reason) {
	t.Helper()
	testenv.Eventually(t, soon, func() bool {
		got, err := silent.Get(t.Context(), id, hashOf(id))
		if err == nil && got.Alive() {
			t.Fatalf("session %v has ended, and is alive in Redis", id)
		}
		return err == nil && got.Ended == why
	}, "Redis says that the session has ended")
}

// received fails the test unless endings on one instance come to be received.
func received(t *testing.T, box *inbox, on *redisstore.Sessions, id idworker.ID) {
	t.Helper()
	testenv.Eventually(t, soon, func() bool {
		id++ // word that is spread before somebody listens is lost
		err := on.Publish(t.Context(), gone(id, session.Revoked))
		if err != nil && !errors.Is(err, session.ErrUnpublished) {
			t.Fatalf("Publish: %v", err)
		}
		return box.has(id)
	}, "the end is received")
}

// listenTo is the inbox of an instance.
func listenTo(t *testing.T, tier *redisstore.Sessions) *inbox {
	t.Helper()
	e := &inbox{}
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() {
		tier.Listen(ctx, func(s session.Session) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.all = append(e.all, s.ID)
		})
	})
	t.Cleanup(func() { cancel(); listening.Wait() })
	return e
}

func (g *group) manyAtOnce(t *testing.T) {
	next, silent := &fake{}, &fake{}
	one, _ := g.open(t, next)
	other, _ := g.open(t, silent)
	var ids []idworker.ID
	for n := range idworker.ID(400) {
		ids = append(ids, 10_000+n)
	}
	g.share(t, one, next, other, ids...)
	for _, r := range g.servers {
		testenv.Eventually(t, soon, func() bool { return r.Command("DBSIZE") != ":0\r\n" }, "every server has some of them")
	}
	// And their ends, from both instances.
	var ends sync.WaitGroup
	for i, id := range ids[:100] {
		ends.Go(func() {
			err := []*redisstore.Sessions{one, other}[i%2].Publish(t.Context(), gone(id, session.LoggedOut))
			if err != nil && !errors.Is(err, session.ErrUnpublished) {
				t.Errorf("Publish: %v", err)
			}
		})
	}
	ends.Wait()
	for _, id := range ids[:100] {
		mustGet(t, one, id, session.LoggedOut)
	}
}

func (g *group) lateFill(t *testing.T) {
	for id := idworker.ID(20_000); id < 20_005; id++ {
		next := &fake{hold: make(chan struct{}), read: make(chan struct{}, 1)}
		next.set(alive(id))
		slow, _ := g.open(t, next)
		other, _ := g.open(t, &fake{})
		filled := make(chan struct{})
		go func() {
			defer close(filled)
			_, _ = slow.Get(t.Context(), id, hashOf(id))
		}()
		<-next.read // it was told "alive"
		testenv.Eventually(t, soon, func() bool {
			return other.Publish(t.Context(), gone(id, session.LoggedOut)) == nil
		}, "Redis is told")
		close(next.hold)
		<-filled
		silent, _ := g.open(t, &fake{})
		ended(t, silent, id, session.LoggedOut)
	}
}

func (g *group) endReachesOthers(t *testing.T) {
	one, _ := g.open(t, &fake{})
	for range 3 {
		other, _ := g.open(t, &fake{})
		box := listenTo(t, other)
		received(t, box, one, 30_000)
		// Now that it listens it hears of sessions wherever they lie.
		for id := idworker.ID(31_000); id < 31_010; id++ {
			if err := one.Publish(t.Context(), gone(id, session.Revoked)); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, soon, func() bool { return box.has(id) }, "the end is received")
		}
	}
}

// slotMoves puts a fill, a question and an end to a node that sends them
// elsewhere: first with ASK, then, from a client that does not know, with MOVED.
func (g *group) slotMoves(t *testing.T, c *testenv.Cluster) {
	next := &fake{}
	one, _ := g.open(t, next)
	other, _ := g.open(t, &fake{})
	late, _ := g.open(t, &fake{})
	g.share(t, one, next, other, 1, 2, 3) // all know who has what
	g.share(t, one, next, late, 1, 2, 3)

	const id = 40_000
	key := redisstore.KeyOf(id)
	from := c.Owner(key)
	to := c.Nodes[0]
	if from == to {
		to = c.Nodes[1]
	}
	c.BeginMove(key, to)
	g.share(t, one, next, other, id)
	count := fmt.Sprintf("CLUSTER COUNTKEYSINSLOT %d", c.Slot(key))
	if old, now := from.Command(count), to.Command(count); old != ":0\r\n" || now != ":1\r\n" {
		t.Errorf("keys: %q where the slot leaves, %q where it goes; want the value there", old, now)
	}
	if err := one.Publish(t.Context(), gone(id, session.LoggedOut)); err != nil {
		t.Errorf("Publish, sent on by ASK: %v", err)
	}
	ended(t, other, id, session.LoggedOut)

	c.FinishMove(key, to)
	ended(t, late, id, session.LoggedOut)
	if err := other.Publish(t.Context(), gone(id, session.Revoked)); err != nil {
		t.Errorf("Publish, sent on by MOVED: %v", err)
	}
	ended(t, one, id, session.Revoked)
}
