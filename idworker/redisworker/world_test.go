//go:build unix

package redisworker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/redisworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// soon bounds a wait for servers that lose one of them.
const soon = time.Minute

// client speaks to a server, to the sentinels that know master, or to a cluster.
func client(t testing.TB, addrs []string, master string, cluster bool) redis.UniversalClient {
	t.Helper()
	o := &redis.UniversalOptions{
		Addrs: addrs, MasterName: master, IsClusterMode: cluster,
		// Only a context ends a wait.
		ContextTimeoutEnabled: true, ReadTimeout: time.Hour, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	var rdb redis.UniversalClient
	if cluster {
		c := o.Cluster()
		c.ClusterStateReloadInterval = 500 * time.Millisecond // else it finds a new master late
		rdb = redis.NewClusterClient(c)
	} else {
		rdb = redis.NewUniversalClient(o)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func single(t testing.TB, r *testenv.RedisServer) redis.UniversalClient {
	return client(t, []string{r.Addr}, "", false)
}

// settled is a Lender whose namespace is past its calm.
func settled(t testing.TB, rdb redis.UniversalClient, change ...func(*redisworker.Lender)) *redisworker.Lender {
	t.Helper()
	l := &redisworker.Lender{Client: rdb, Namespace: t.Name(), Holder: "host:1"}
	for _, c := range change {
		c(l)
	}
	if err := redisworker.Settle(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	return l
}

// with sets the times of a Lender.
func with(reach, skew time.Duration) func(*redisworker.Lender) {
	return func(l *redisworker.Lender) { l.Reach, l.Skew = reach, skew }
}

func acquire(t testing.TB, l *redisworker.Lender, window time.Duration) idworker.Grant {
	t.Helper()
	g, err := l.Acquire(t.Context(), window)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// calm reports whether the Lender will not lend for a while.
func calm(t testing.TB, l *redisworker.Lender) bool {
	t.Helper()
	var err error
	testenv.Eventually(t, soon, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = l.Acquire(ctx, time.Millisecond)
		return !errors.Is(err, redisworker.ErrUnavailable)
	}, "Redis answers")
	if err != nil && !errors.Is(err, redisworker.ErrCalm) {
		t.Errorf("acquire: %v, want a number or ErrCalm", err)
	}
	return err != nil
}

// lost checks that an owner is told that its number is not its own any more.
func lost(t testing.TB, l *redisworker.Lender, g idworker.Grant) {
	t.Helper()
	if got, err := l.Extend(t.Context(), g, g.Until.Add(100*time.Millisecond)); !errors.Is(err, idworker.ErrLost) {
		t.Errorf("extend: %v, %v, want ErrLost", got, err)
	}
}
