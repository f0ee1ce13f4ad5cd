//go:build unix

package redisworkertest

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/idworkertest"
	"github.com/flakepass/flakepass/idworker/redisworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A loss is how Redis forgets. What is there when old is called may come back
// when lose is.
type loss struct {
	name      string
	old, lose func(t *testing.T, r *testenv.RedisServer, key string)
	outage    bool // owners may be lost too
}

func nothing(*testing.T, *testenv.RedisServer, string) {}

var losses = []loss{
	{"FLUSHALL", nothing, func(_ *testing.T, r *testenv.RedisServer, _ string) { r.Command("FLUSHALL") }, false},
	{"DEL", nothing, func(_ *testing.T, r *testenv.RedisServer, key string) { r.Command("DEL " + key) }, false},
	{"HDEL", nothing, func(_ *testing.T, r *testenv.RedisServer, key string) { r.Command("HDEL " + key + " 0") }, false},
	{"Eviction", nothing, evict, false},
	{"RestartEmpty", nothing, restart, true},
	{"RestartFromOldFile", func(_ *testing.T, r *testenv.RedisServer, _ string) { r.Command("SAVE") }, restart, true},
	{"PromotedAgain", nil, nil, true},
}

func evict(t *testing.T, r *testenv.RedisServer, key string) {
	r.Command("CONFIG SET maxmemory-policy allkeys-random")
	r.Command("CONFIG SET maxmemory 1")
	testenv.Eventually(t, soon, func() bool {
		_ = single(t, r).Set(t.Context(), "x", "x", 0).Err() // there is no room
		return r.Command("EXISTS "+key) == ":0\r\n"
	}, "the record is evicted")
	r.Command("CONFIG SET maxmemory 0")
}

func restart(_ *testing.T, r *testenv.RedisServer, _ string) {
	r.Kill()
	r.Start()
}

// TestLossLendsNothingTwice: of what was lent before a loss, nothing is lent
// after.
func TestLossLendsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, c := range losses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := testenv.Redis(t)
			if c.old == nil {
				c.old, c.lose = promotedAgain(t, r)
			}
			survive(t, single(t, r), 3*time.Second, c.outage,
				func(key string) { c.old(t, r, key) }, func(key string) { c.lose(t, r, key) })
		})
	}
}

// promotedAgain is a master that becomes a replica of one that was behind, and
// then the master again: it is the same process with the same name, and has lost
// what it knew.
func promotedAgain(t *testing.T, r *testenv.RedisServer) (old, lose func(*testing.T, *testenv.RedisServer, string)) {
	behind := follower(t, r)
	return func(t *testing.T, r *testenv.RedisServer, _ string) {
			r.AwaitCopies(1)
			behind.Command("REPLICAOF NO ONE")
		}, func(t *testing.T, r *testenv.RedisServer, _ string) {
			host, port, _ := net.SplitHostPort(behind.Addr)
			r.Command("REPLICAOF " + host + " " + port)
			behind.AwaitCopies(1)
			r.Command("REPLICAOF NO ONE")
		}
}

// follower is a replica.
func follower(t *testing.T, r *testenv.RedisServer) *testenv.RedisServer {
	host, port, _ := net.SplitHostPort(r.Addr)
	r.Command("CONFIG SET repl-diskless-sync-delay 0")
	f := testenv.Redis(t, "--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0")
	r.AwaitCopies(1)
	return f
}

// survive lends as far ahead as possible, keeps a copy that gets old, lends
// more, loses, and lends again.
func survive(t *testing.T, rdb redis.UniversalClient, reach time.Duration, outage bool, old, lose func(key string)) {
	t.Helper()
	var ledger idworkertest.Ledger
	l := settled(t, rdb, with(reach, 100*time.Millisecond), func(l *redisworker.Lender) { l.Namespace = "n" })
	far := func(g idworker.Grant) idworker.Grant {
		t.Helper()
		longer, err := l.Extend(t.Context(), g, time.Now().Add(reach-50*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		ledger.Lent(longer)
		return longer
	}
	stays, leaves := acquire(t, l, time.Second), acquire(t, l, time.Millisecond)
	ledger.Lent(stays)
	ledger.Lent(leaves)
	old(keyOf(l))
	if err := l.Release(t.Context(), leaves, leaves.From); err != nil {
		t.Fatal(err)
	}
	ledger.Kept(leaves, leaves.From.UnixMilli())
	comes := acquire(t, l, time.Second)
	if comes.Number != leaves.Number {
		t.Fatalf("got number %d, want %d, which was given back", comes.Number, leaves.Number)
	}
	stays, comes = far(stays), far(comes)
	lose(keyOf(l))

	if !calm(t, l) {
		t.Error("the loss is not noticed")
	}
	for i, g := range []*idworker.Grant{&stays, &comes} {
		longer, err := l.Extend(t.Context(), *g, time.Now().Add(reach-50*time.Millisecond))
		switch {
		case err == nil:
			*g = longer
			ledger.Lent(longer)
		case !outage:
			t.Errorf("owner %d, whose range goes on, is not extended: %v", i, err)
		case !errors.Is(err, idworker.ErrLost):
			t.Errorf("owner %d: %v, want ErrLost", i, err)
		}
	}
	for range 4 {
		ledger.Lent(acquire(t, l, time.Second))
	}
	if err := ledger.Overlap(); err != nil {
		t.Error(err)
	}
}

// holdBack cuts a master off from its replicas: they may not copy any more.
func holdBack(t *testing.T, master *testenv.RedisServer) {
	t.Helper()
	master.Command("ACL SETUSER default -psync -sync")
	master.Command("CLIENT KILL TYPE replica")
}

func TestFailoverToAReplicaThatWasBehind(t *testing.T) {
	t.Parallel()
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		s := testenv.RedisSentinel(t)
		survive(t, client(t, s.Addrs(), s.Name, false), 8*time.Second, true, func(string) {
			s.Master().AwaitCopies(2)
			holdBack(t, s.Master())
		}, func(string) {
			running := s.Servers[0]
			running.Kill()
			if s.Master() == running {
				t.Fatal("no other owner took over")
			}
		})
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		c := testenv.RedisCluster(t)
		var master *testenv.RedisServer
		survive(t, client(t, c.Addrs()[:1], "", true), 8*time.Second, true, func(key string) {
			master = c.Owner(key)
			master.AwaitCopies(1)
			holdBack(t, master)
		}, func(key string) {
			master.Kill()
			if c.Owner(key) == master {
				t.Fatal("no other owner took over")
			}
		})
	})
}

// TestSlotThatMoves goes with the record to another master and comes back with
// an old copy of it.
func TestSlotThatMoves(t *testing.T) {
	t.Parallel()
	c := testenv.RedisCluster(t)
	var from, to *testenv.RedisServer
	var copied string
	carry := func(key string, from, to *testenv.RedisServer) {
		host, port, _ := net.SplitHostPort(to.Addr)
		c.BeginMove(key, to)
		from.Command(fmt.Sprintf("MIGRATE %s %s %s 0 5000", host, port, key))
		c.FinishMove(key, to)
	}
	rdb := client(t, c.Addrs()[:1], "", true)
	survive(t, rdb, 5*time.Second, true, func(key string) {
		from = c.Owner(key)
		for _, node := range c.Nodes[:3] {
			if node != from {
				to = node
			}
		}
		copied = rdb.Dump(t.Context(), key).Val()
	}, func(key string) {
		carry(key, from, to)
		// The new owner loses its last changes before it was asked.
		if err := single(t, to).RestoreReplace(t.Context(), key, 0, copied).Err(); err != nil {
			t.Fatal(err)
		}
		carry(key, to, from)
	})
}
