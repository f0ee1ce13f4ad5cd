// Package memlimit keeps buckets in this process.
package memlimit

import (
	"context"
	"sync"
	"time"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"

	"github.com/flakepass/flakepass/internal/throttle"
)

// A Store keeps buckets in memory: a bounded number, of which the ones not used
// for the longest time go first. Make one with [New].
type Store struct {
	kept *memstore.MemStore

	mu      sync.Mutex
	limiter map[throttle.Rule]*throttled.GCRARateLimiterCtx
}

var _ throttle.Store = (*Store)(nil)

// New returns a store of at most that many buckets; about 200 bytes each.
func New(buckets int) (*Store, error) {
	kept, err := memstore.New(buckets)
	if err != nil {
		return nil, err
	}
	return &Store{kept: kept, limiter: map[throttle.Rule]*throttled.GCRARateLimiterCtx{}}, nil
}

// Take takes one attempt out of a bucket.
func (s *Store) Take(ctx context.Context, key string, r throttle.Rule) throttle.Verdict {
	if r.None() {
		return throttle.Verdict{Allowed: true}
	}
	limited, result, err := s.of(r).RateLimitCtx(ctx, key, 1)
	if err != nil {
		// It lost each of its races for one bucket: a thousand others are at it.
		return throttle.Verdict{Retry: time.Second, Reset: r.Per}
	}
	return throttle.Verdict{
		Allowed: !limited, Remaining: result.Remaining, Retry: max(0, result.RetryAfter), Reset: max(0, result.ResetAfter),
	}
}

// of is the limiter of a rule. There are as many as rules were in force since
// the start: an operator's changes, and no stranger's.
func (s *Store) of(r throttle.Rule) *throttled.GCRARateLimiterCtx {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.limiter[r]; ok {
		return l
	}
	l, err := throttled.NewGCRARateLimiterCtx(throttled.WrapStoreWithContext(s.kept), throttled.RateQuota{
		MaxRate: throttled.PerDuration(r.Count, r.Per), MaxBurst: r.Count - 1,
	})
	if err != nil {
		panic(err) // a rule that is one has a rate
	}
	// Each attempt that loses a race has let another one win.
	l.SetMaxCASAttemptsLimit(1000)
	s.limiter[r] = l
	return l
}

// Forget fills a bucket up.
func (s *Store) Forget(_ context.Context, key string) {
	for {
		was, _, err := s.kept.GetWithTime(key)
		if err != nil || was <= 0 {
			return
		}
		if done, err := s.kept.CompareAndSwapWithTTL(key, was, 0, 0); done || err != nil {
			return
		}
	}
}
