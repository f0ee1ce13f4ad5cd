//go:build unix

package redisworkertest

import (
	"context"
	"errors"
	"strconv"
	"strings"
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
	settle(t, l)
	return l
}

// settle begins the record of a namespace of which the test knows that nothing was
// lent before, so that it need not wait for the calm: it dates the record back.
func settle(t testing.TB, l *redisworker.Lender) {
	t.Helper()
	ctx, key := t.Context(), keyOf(l)
	if err := l.Client.Del(ctx, key).Err(); err != nil {
		t.Fatal(err)
	}
	// Whatever is asked begins the record; this owner had its range long ago.
	gone := idworker.Grant{Token: "T", From: time.UnixMilli(1), Until: time.UnixMilli(1)}
	if got, err := l.Extend(ctx, gone, gone.Until); !errors.Is(err, idworker.ErrLost) {
		t.Fatalf("extended to %+v, %v, want ErrLost", got, err)
	}
	const born, reach, skew = 2, 3, 4 // words of the record, in milliseconds
	is := strings.Fields(l.Client.HGet(ctx, key, "record").Val())
	ms := func(word int) int64 {
		n, err := strconv.ParseInt(is[word], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	is[born] = strconv.FormatInt(ms(born)-ms(reach)-2*ms(skew), 10)
	if err := l.Client.HSet(ctx, key, "record", strings.Join(is, " ")).Err(); err != nil {
		t.Fatal(err)
	}
}

// keyOf is where the record of a namespace lies.
func keyOf(l *redisworker.Lender) string {
	if l.Namespace == "" {
		return "idworker:{flakepass}"
	}
	return "idworker:{" + l.Namespace + "}"
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

// lost checks that an owner learns that it has lost its number.
func lost(t testing.TB, l *redisworker.Lender, g idworker.Grant) {
	t.Helper()
	if got, err := l.Extend(t.Context(), g, g.Until.Add(100*time.Millisecond)); !errors.Is(err, idworker.ErrLost) {
		t.Errorf("extend: %v, %v, want ErrLost", got, err)
	}
}
