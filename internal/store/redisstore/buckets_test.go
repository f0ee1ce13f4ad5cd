package redisstore_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/proof/ratelimittest"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

func of(key string, r limit.Rule) ratelimit.Bucket { return ratelimit.Bucket{Key: key, Rule: r} }

var rule = limit.Rule{Count: 5, Per: time.Hour}

func TestStore(t *testing.T) {
	url := testenv.SharedRedis(t)
	ratelimittest.Conformance(t, func(t *testing.T) ratelimit.Store { t.Helper(); return openBuckets(t, url, nil) })
}

// TestInstancesCountTogether as long as Redis is there.
func TestInstancesCountTogether(t *testing.T) {
	url := testenv.SharedRedis(t)
	a, b := openBuckets(t, url, nil), openBuckets(t, url, nil)
	through := 0
	for range 10 {
		for _, s := range []ratelimit.Store{a, b} {
			if s.Take(t.Context(), of("together", rule)).Allowed {
				through++
			}
		}
	}
	if through != 5 {
		t.Errorf("%d got through two instances, want 5", through)
	}
	a.Forget(t.Context(), "together")
	if !a.Take(t.Context(), of("together", rule)).Allowed {
		t.Error("the one that forgot still refuses")
	}
}

// TestClusterCounts, whatever node a bucket is on.
func TestClusterCounts(t *testing.T) {
	cluster := testenv.RedisCluster(t)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()})
	t.Cleanup(func() { _ = rdb.Close() })
	log := &testenv.Journal{}
	s := redisstore.NewBuckets(rdb, &memstore.Buckets{}, []byte("secret"), slog.New(slog.NewTextHandler(log, nil)))
	for i := range 50 {
		key, through := "cluster"+strconv.Itoa(i), 0
		for range 7 {
			if s.Take(t.Context(), of(key, rule)).Allowed {
				through++
			}
		}
		if through != 5 {
			t.Errorf("bucket %d: %d got through", i, through)
		}
	}
	var nodes atomic.Int64
	if err := rdb.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
		keys, err := node.Keys(ctx, "fp:limit:*").Result()
		if len(keys) > 0 {
			nodes.Add(1)
		}
		return err
	}); err != nil || nodes.Load() < 2 {
		t.Errorf("%d nodes count, %v", nodes.Load(), err)
	}
}

// TestWithoutRedisEachInstanceCounts what it has seen, from before too: there is
// neither no limit, nor is everybody refused.
func TestWithoutRedisEachInstanceCounts(t *testing.T) {
	server := testenv.Redis(t)
	log := &testenv.Journal{}
	s := openBuckets(t, server.URL(), log)
	for range 3 {
		if !s.Take(t.Context(), of("away", rule)).Allowed {
			t.Fatal("refused")
		}
	}
	server.Stop()
	through := 0
	for range 10 {
		if s.Take(t.Context(), of("away", rule)).Allowed {
			through++
		}
	}
	if through != 2 {
		t.Errorf("%d more got through without Redis, want the 2 that were left", through)
	}
	for i := range 5 { // each is asked about in vain, until Redis is given up
		if !s.Take(t.Context(), of("somebody else"+strconv.Itoa(i), rule)).Allowed {
			t.Error("somebody else is refused")
		}
	}
	if n := strings.Count(log.String(), "does not count"); n != 1 {
		t.Errorf("%d lines about one outage\n%s", n, log)
	}
	server.Start()
	testenv.Eventually(t, time.Minute, func() bool {
		s.Take(t.Context(), of("back", limit.Rule{Count: 1_000_000, Per: time.Hour}))
		return strings.Contains(log.String(), "counts attempts again")
	}, "Redis is not used again")
}

func openBuckets(t *testing.T, url string, log *testenv.Journal) ratelimit.Store {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	to := slog.New(slog.DiscardHandler)
	if log != nil {
		to = slog.New(slog.NewTextHandler(log, nil))
	}
	return redisstore.NewBuckets(rdb, &memstore.Buckets{}, []byte("secret"), to)
}
