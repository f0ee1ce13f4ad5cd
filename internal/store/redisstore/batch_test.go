package redisstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// A desk is a server within this process: it answers every question with one session,
// once it may.
type desk struct {
	gate
	value   string
	batches [][]redis.Cmder
}

func (d *desk) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		d.batches = append(d.batches, cmds) // one at a time
		<-d.open
		for _, cmd := range cmds {
			if get, ok := cmd.(*redis.StringCmd); ok {
				get.SetVal(d.value)
			}
		}
		return nil
	}
}

// seated is a tier in front of next whose server is the desk.
func seated(t *testing.T, next session.Store) (*redisstore.Sessions, *desk) {
	t.Helper()
	s := alive(7)
	value, err := redisstore.Encode(secret, redisstore.KeyOf(7), &s)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{gate: gate{make(chan struct{})}, value: string(value)}
	rdb := redisstore.Open(redisstore.Server{Addrs: []string{"127.0.0.1:1"}})
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(d)
	tier, err := redisstore.NewSessions(rdb, next, redisstore.Options{Key: secret, Bound: bound})
	if err != nil {
		t.Fatal(err)
	}
	return tier, d
}

// TestWhoComesDuringABatchIsInTheNext: a lone question goes at once, and all that come
// before its answer go together.
func TestWhoComesDuringABatchIsInTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tier, d := seated(t, &fake{})
		var asks sync.WaitGroup
		ask := func(n int) {
			for range n {
				asks.Go(func() { mustGet(t, tier, 7, "") })
			}
			synctest.Wait()
		}
		ask(1)
		ask(2)
		ask(30)
		close(d.open)
		asks.Wait()
		if len(d.batches) != 2 || len(d.batches[0]) != 1 || len(d.batches[1]) != 32 {
			t.Errorf("%d batches, want one of 1 and one of 32", len(d.batches))
		}
	})
}

// TestNobodyWaitsLongerThanPatienceLasts for a server that stands still, and nobody is
// sent away much earlier, although one timer is for many. Who leaves need not wait.
func TestNobodyWaitsLongerThanPatienceLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("the row was asked")
		tier, d := seated(t, &fake{err: down})
		var asks sync.WaitGroup
		for i := range 30 {
			asks.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond) //nolint:forbidigo // in a bubble
				start := time.Now()
				_, err := tier.Get(t.Context(), 7, hashOf(7))
				if took := time.Since(start); !errors.Is(err, down) || took > redisstore.AskTimeout || took < redisstore.AskTimeout-redisstore.Grain {
					t.Errorf("after %v: %v, want the row to be asked after %v", took, err, redisstore.AskTimeout)
				}
			})
		}
		asks.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			start := time.Now()
			if _, err := tier.Get(ctx, 7, hashOf(7)); time.Since(start) != time.Millisecond {
				t.Errorf("who left after %v had the answer %v", time.Since(start), err)
			}
		})
		asks.Wait()
		close(d.open)
	})
}

// TestAnswerOfRedisAllocatesLittle: the garbage collector is much of what an answer costs.
// In a bubble time stands still meanwhile, so that one timer is for all.
func TestAnswerOfRedisAllocatesLittle(t *testing.T) {
	made := 0
	pool := sync.Pool{New: func() any { made++; return new(int) }}
	for range 10_000 {
		pool.Put(pool.Get())
	}
	most := 14.0
	if made > 1000 {
		most = 20 // the race detector has pools lose a fourth of what they keep
	}
	synctest.Test(t, func(t *testing.T) {
		tier, d := seated(t, &fake{})
		close(d.open)
		ctx, shown := t.Context(), hashOf(7)
		got := testing.AllocsPerRun(1000, func() {
			d.batches = d.batches[:0]
			if _, err := tier.Get(ctx, 7, shown); err != nil {
				t.Error(err)
			}
		})
		// The key, the command, its batch, the goroutine that sends it, what the client
		// does, and the texts of the session.
		if got > most {
			t.Errorf("got %v allocations, want %v at most", got, most)
		}
	})
}
