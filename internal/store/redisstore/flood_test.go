package redisstore_test

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// Strangers make up any number of names and places. Redis keeps as many keys and
// bytes as before, and who had used up a limit has used it up.
func TestFloodAddsNoKeysAndErasesNothing(t *testing.T) {
	url := testenv.Redis(t).URL()
	s := openBuckets(t, url, nil)
	day := limit.Rule{Count: 50, Per: 24 * time.Hour}
	for range 51 {
		s.Take(t.Context(), of("p:victim", day))
	}
	n := 10_000
	if os.Getenv("FLAKEPASS_ATTACK") == "whole" {
		n = 1_000_000
	}
	work := make(chan int)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := range work {
				s.Take(context.Background(), of("p:"+strconv.Itoa(i), day))
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	keys, err := rdb.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) > 65 { // 64 shards, and the set of periods
		t.Errorf("%d keys, %v", len(keys), err)
	}
	var bytes int64
	for _, key := range keys {
		used, err := rdb.MemoryUsage(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		bytes += used
	}
	if bytes > 9<<19 {
		t.Errorf("%d bytes in Redis", bytes)
	}
	// One that has counted nothing by itself asks Redis alone.
	if v := openBuckets(t, url, nil).Take(t.Context(), of("p:victim", day)); v.Allowed {
		t.Errorf("who had used up the limit: %+v", v)
	}
	t.Logf("%d attempts: %d keys, %d bytes", n, len(keys), bytes)
}

// A verdict of a store that is asked by many at the same time is exact.
func TestRefusedByRedisTakesNothingHere(t *testing.T) {
	url := testenv.SharedRedis(t)
	a, b := openBuckets(t, url, nil), openBuckets(t, url, nil)
	bucket := of("both:"+t.Name(), rule)
	for range 5 {
		a.Take(t.Context(), bucket)
	}
	for range 10 {
		if v := b.Take(t.Context(), bucket); v.Allowed || v.Shared != (ratelimit.Receipt{}) || v.Retry <= 0 {
			t.Fatalf("%+v", v)
		}
	}
	a.Forget(t.Context(), bucket.Key)
	if v := b.Take(t.Context(), bucket); !v.Allowed || v.Remaining != 4 {
		t.Errorf("after all was given back there: %+v", v)
	}
}
