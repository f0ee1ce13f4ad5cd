//go:build unix

package redisworkertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/idworkertest"
	"github.com/flakepass/flakepass/idworker/redisworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestLenderKeepsThePromise also with one number for all, and with changes
// that replicas confirm.
func TestLenderKeepsThePromise(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name     string
		open     func(t *testing.T) redis.UniversalClient
		replicas int
	}{
		{"Server", func(t *testing.T) redis.UniversalClient { return single(t, testenv.Redis(t)) }, 0},
		{"Sentinel", func(t *testing.T) redis.UniversalClient {
			s := testenv.RedisSentinel(t)
			return client(t, s.Addrs(), s.Name, false)
		}, 2},
		{"Cluster", func(t *testing.T) redis.UniversalClient {
			return client(t, testenv.RedisCluster(t).Addrs()[:1], "", true)
		}, 1},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			rdb := kind.open(t)
			promise := func(t *testing.T, change func(*redisworker.Lender)) {
				idworkertest.TestLender(t, func(t *testing.T) func() idworker.Lender {
					l := settled(t, rdb, with(24*time.Hour, time.Second), change) // the suite asks for hours
					return func() idworker.Lender { another := *l; return &another }
				})
			}
			seven := 7
			t.Run("Numbers", func(t *testing.T) { promise(t, func(*redisworker.Lender) {}) })
			t.Run("Only", func(t *testing.T) { promise(t, func(l *redisworker.Lender) { l.Only = &seven }) })
			if kind.replicas > 0 {
				t.Run("Replicas", func(t *testing.T) { promise(t, func(l *redisworker.Lender) { l.Replicas = kind.replicas }) })
			}
		})
	}
}

func TestOrderOfPreference(t *testing.T) {
	rdb := single(t, testenv.Redis(t))
	l := settled(t, rdb, with(time.Hour, time.Second), func(l *redisworker.Lender) { l.Numbers = 6 })
	past, ahead := int64(1000), time.Now().Add(time.Minute).UnixMilli()
	for number, row := range map[int]string{
		0: fmt.Sprintf("p ALIVE 1 %d %d h", ahead, ahead), // 3 was never lent
		1: fmt.Sprintf("p SILENT 1 %d %d h", past, past),
		2: fmt.Sprintf("f GIVEN 1 %d %d h", past, past),
		4: fmt.Sprintf("f GIVEN 1 %d %d h", ahead, past),
		5: fmt.Sprintf("o SILENT 1 %d %d h", ahead-1, past),
	} {
		plant(t, l, number, row)
	}
	for _, want := range []int{2, 1, 3, 5, 4} {
		if g := acquire(t, l, time.Second); g.Number != want {
			t.Errorf("got number %d, want %d", g.Number, want)
		}
	}
	if g, err := l.Acquire(t.Context(), time.Second); !errors.Is(err, idworker.ErrNoNumber) {
		t.Errorf("with every owner alive: %+v, %v, want ErrNoNumber", g, err)
	}
}

// plant writes a number's field as a Lender would, or would not.
func plant(t testing.TB, l *redisworker.Lender, number int, row string) {
	t.Helper()
	ctx, key := t.Context(), keyOf(l)
	if err := l.Client.HSet(ctx, key, fmt.Sprint(number), row).Err(); err != nil {
		t.Fatal(err)
	}
	is := strings.Fields(l.Client.HGet(ctx, key, "record").Val())
	is[len(is)-1] = fmt.Sprint(l.Client.HLen(ctx, key).Val() - 1)
	if err := l.Client.HSet(ctx, key, "record", strings.Join(is, " ")).Err(); err != nil {
		t.Fatal(err)
	}
}

// TestOnlySparesThePool: who chose a number among many may go on after a loss,
// and so no other may have taken it meanwhile.
func TestOnlySparesThePool(t *testing.T) {
	pool := settled(t, single(t, testenv.Redis(t)))
	g := acquire(t, pool, time.Second)
	only := *pool
	only.Only = &g.Number
	if got, err := only.Acquire(t.Context(), time.Second); !errors.Is(err, idworker.ErrNoNumber) {
		t.Fatalf("got %+v, %v, want ErrNoNumber", got, err)
	}
	if err := pool.Release(t.Context(), g, g.Until); err != nil {
		t.Fatal(err)
	}
	if mine := acquire(t, &only, time.Second); mine.Number != g.Number || mine.From.Before(g.Until) {
		t.Errorf("after %+v was given back: %+v", g, mine)
	}
}

func TestHolderIsShownAndCut(t *testing.T) {
	l := settled(t, single(t, testenv.Redis(t)), func(l *redisworker.Lender) { l.Holder = "a b\n" + strings.Repeat("ü", 300) })
	g := acquire(t, l, time.Second)
	row := l.Client.HGet(t.Context(), keyOf(l), fmt.Sprint(g.Number)).Val()
	if !strings.HasSuffix(row, " a b\n"+strings.Repeat("ü", 251)) {
		t.Errorf("the record says %q", row)
	}
	if _, err := l.Extend(t.Context(), g, g.Until.Add(time.Second)); err != nil {
		t.Error(err)
	}
}

// TestRangeEndsWithinReach holds what the calm rests on.
func TestRangeEndsWithinReach(t *testing.T) {
	l := settled(t, single(t, testenv.Redis(t)))
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if g, err := l.Acquire(ctx, 6*time.Second); !errors.Is(err, redisworker.ErrReach) {
		t.Errorf("a window longer than Reach: %+v, %v, want ErrReach", g, err)
	}
	fast := *l
	fast.Now = func() time.Time { return time.Now().Add(time.Hour) }
	if g, err := fast.Acquire(ctx, time.Second); !errors.Is(err, redisworker.ErrReach) {
		t.Errorf("with a clock an hour ahead: %+v, %v, want ErrReach", g, err)
	}
	g := acquire(t, l, time.Second)
	if longer, err := l.Extend(t.Context(), g, time.Now().Add(6*time.Second)); !errors.Is(err, redisworker.ErrReach) {
		t.Errorf("extended to %+v, %v, want ErrReach", longer, err)
	}
	same, err := l.Extend(t.Context(), g, g.From)
	if err != nil || !same.Until.Equal(g.Until) {
		t.Errorf("after a refusal the range ends at %v (%v), want %v", same.Until, err, g.Until)
	}
}

func TestSettingsHaveToAgree(t *testing.T) {
	l := settled(t, single(t, testenv.Redis(t)))
	for name, change := range map[string]func(*redisworker.Lender){
		"another Reach": with(time.Second, time.Second),
		"another Skew":  with(5*time.Second, time.Millisecond),
		"short Stale":   func(l *redisworker.Lender) { l.Stale = 5 * time.Second },
		"parts of a ms": with(time.Second+1, time.Second),
		"no Client":     func(l *redisworker.Lender) { l.Client = nil },
		"negative":      func(l *redisworker.Lender) { l.Numbers = -1 },
	} {
		other := *l
		change(&other)
		if g, err := other.Acquire(t.Context(), time.Millisecond); !errors.Is(err, redisworker.ErrSettings) {
			t.Errorf("%s: %+v, %v, want ErrSettings", name, g, err)
		}
	}
}
