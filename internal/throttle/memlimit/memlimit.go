// Package memlimit keeps buckets in this process.
package memlimit

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"

	"github.com/flakepass/flakepass/internal/limit"
	"github.com/flakepass/flakepass/internal/throttle"
)

// A Store keeps buckets in memory: a bounded number, of which the ones not used
// for the longest time go first. Make one with [New].
type Store struct {
	kept    *memstore.MemStore // by key and period: the moment at which the bucket is full, in Unix nanoseconds
	periods throttle.Periods

	mu      sync.Mutex
	limiter map[limit.Rule]*throttled.GCRARateLimiterCtx
}

var _ throttle.Store = (*Store)(nil)

// New returns a store of at most that many buckets; about 200 bytes each.
func New(buckets int) (*Store, error) {
	kept, err := memstore.New(buckets)
	if err != nil {
		return nil, err
	}
	return &Store{kept: kept, limiter: map[limit.Rule]*throttled.GCRARateLimiterCtx{}}, nil
}

// Take takes attempts out of a bucket.
func (s *Store) Take(ctx context.Context, b throttle.Bucket) throttle.Verdict {
	if b.Rule.None() {
		return throttle.Verdict{Allowed: true}
	}
	if donors := s.periods.Donors(b, time.Now()); donors != nil {
		s.succeed(b, donors)
	}
	limited, result, err := s.of(b.Rule).RateLimitCtx(ctx, name(b.Key, b.Rule.Per), max(1, b.N))
	if err != nil {
		// It lost each of its races for one bucket: a thousand others are at it.
		return throttle.Verdict{Retry: time.Second, Reset: b.Rule.Per}
	}
	return throttle.Verdict{
		Allowed: !limited, Remaining: result.Remaining, Retry: max(0, result.RetryAfter), Reset: max(0, result.ResetAfter),
	}
}

// name is that of the bucket of a key and a period.
func name(key string, per time.Duration) string {
	return key + "@" + strconv.FormatInt(per.Milliseconds(), 10)
}

// of is the limiter of a rule. There are as many as rules were in force since
// the start: an operator's changes, and no stranger's.
func (s *Store) of(r limit.Rule) *throttled.GCRARateLimiterCtx {
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

// succeed uses as much of b as is used of those of its periods before of which most
// is used, and empties these afterwards: whoever finds one empty finds b so.
func (s *Store) succeed(b throttle.Bucket, donors []time.Duration) {
	now, share := time.Now().UnixNano(), 0.0
	for _, per := range donors {
		if full, _, err := s.kept.GetWithTime(name(b.Key, per)); err == nil && full > now {
			share = max(share, min(1, float64(full-now)/float64(per)))
		}
	}
	if share == 0 {
		return
	}
	heir, full := name(b.Key, b.Rule.Per), now+int64(share*float64(b.Rule.Per))
	for {
		was, _, err := s.kept.GetWithTime(heir)
		if err != nil {
			return
		}
		done := was >= full
		if was < 0 {
			done, err = s.kept.SetIfNotExistsWithTTL(heir, full, 0)
		} else if !done {
			done, err = s.kept.CompareAndSwapWithTTL(heir, was, full, 0)
		}
		if err != nil {
			return
		}
		if done {
			break
		}
	}
	for _, per := range donors {
		s.change(name(b.Key, per), func(int64) int64 { return 0 })
	}
}

// Return puts attempts back.
func (s *Store) Return(_ context.Context, b throttle.Bucket, _ throttle.Verdict) {
	s.change(name(b.Key, b.Rule.Per), func(full int64) int64 { return max(0, full-int64(b.Cost())) })
}

// Forget fills all buckets of a key up.
func (s *Store) Forget(_ context.Context, key string) {
	for _, per := range s.periods.Of(key) {
		s.change(name(key, per), func(int64) int64 { return 0 })
	}
}

// change changes what is kept of a bucket, if there is any.
func (s *Store) change(name string, to func(int64) int64) {
	for {
		was, _, err := s.kept.GetWithTime(name)
		if err != nil || was <= 0 {
			return
		}
		if done, err := s.kept.CompareAndSwapWithTTL(name, was, to(was), 0); done || err != nil {
			return
		}
	}
}
