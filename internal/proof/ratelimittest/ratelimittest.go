// Package ratelimittest holds every store of buckets to the same promise.
package ratelimittest

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// Conformance runs the suite against stores that fresh makes; they may share
// what they keep.
func Conformance(t *testing.T, fresh func(t *testing.T) ratelimit.Store) {
	t.Helper()
	var n atomic.Int64
	key := func(t *testing.T) string { return "test:" + t.Name() + strconv.FormatInt(n.Add(1), 10) }
	rule := limit.Rule{Count: 5, Per: time.Hour}
	of := func(key string, r limit.Rule) ratelimit.Bucket { return ratelimit.Bucket{Key: key, Rule: r} }

	t.Run("CountAtOnce", func(t *testing.T) {
		s, key := fresh(t), key(t)
		for i := range 5 {
			if v := s.Take(t.Context(), of(key, rule)); !v.Allowed || v.Remaining != 4-i || v.Retry != 0 || v.Reset <= 0 {
				t.Errorf("attempt %d: %+v", i+1, v)
			}
		}
		v := s.Take(t.Context(), of(key, rule))
		if v.Allowed || v.Remaining != 0 || v.Retry <= 11*time.Minute || v.Retry > 12*time.Minute || v.Reset > time.Hour {
			t.Errorf("the sixth: %+v", v)
		}
		if v := s.Take(t.Context(), of(key+"other", rule)); !v.Allowed {
			t.Error("another bucket is empty too")
		}
	})
	t.Run("OneMoreTricklesIn", func(t *testing.T) {
		s, key, fast := fresh(t), key(t), limit.Rule{Count: 2, Per: 400 * time.Millisecond}
		taken := 0
		for s.Take(t.Context(), of(key, fast)).Allowed {
			taken++
		}
		testenv.Eventually(t, 10*time.Second, func() bool { return s.Take(t.Context(), of(key, fast)).Allowed }, "none has trickled in")
		if taken < 2 {
			t.Errorf("%d at once", taken)
		}
	})
	t.Run("ForgottenIsFull", func(t *testing.T) {
		s, key := fresh(t), key(t)
		s.Forget(t.Context(), key)
		for range 2 {
			for i := range 5 {
				if v := s.Take(t.Context(), of(key, rule)); !v.Allowed {
					t.Errorf("attempt %d: %+v", i+1, v)
				}
			}
			s.Forget(t.Context(), key)
		}
	})
	t.Run("ManyAtTheSameTime", func(t *testing.T) {
		s, key := fresh(t), key(t)
		var through atomic.Int64
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if s.Take(t.Context(), of(key, rule)).Allowed {
					through.Add(1)
				}
			})
		}
		all.Wait()
		if through.Load() != 5 {
			t.Errorf("%d got through, want 5", through.Load())
		}
	})
	t.Run("NoRule", func(t *testing.T) {
		if v := fresh(t).Take(t.Context(), of(key(t), limit.Rule{})); !v.Allowed {
			t.Errorf("%+v", v)
		}
	})
	t.Run("ManyTogetherOrNone", func(t *testing.T) {
		s, key := fresh(t), key(t)
		take := func(n int) ratelimit.Verdict {
			return s.Take(t.Context(), ratelimit.Bucket{Key: key, Rule: rule, N: n})
		}
		first := take(3)
		if !first.Allowed || first.Remaining != 2 {
			t.Errorf("three of five: %+v", first)
		}
		if v := take(3); v.Allowed || v.Retry <= 11*time.Minute || v.Retry > 12*time.Minute {
			t.Errorf("three of the two that are left: %+v, want to wait for one", v)
		}
		if v := take(2); !v.Allowed || v.Remaining != 0 {
			t.Errorf("the two that are left: %+v", v)
		}
		s.Return(t.Context(), ratelimit.Bucket{Key: key, Rule: rule, N: 3}, first)
		if v := take(3); !v.Allowed || v.Remaining != 0 {
			t.Errorf("the three that were given back: %+v", v)
		}
		if take(1).Allowed {
			t.Error("one more than there are")
		}
	})
	t.Run("ManyTogetherAtTheSameTime", func(t *testing.T) {
		s, key, wide := fresh(t), key(t), limit.Rule{Count: 50, Per: time.Hour}
		var taken atomic.Int64
		var all sync.WaitGroup
		for i := range 60 {
			n := 1 + i%4
			all.Go(func() {
				if s.Take(t.Context(), ratelimit.Bucket{Key: key, Rule: wide, N: n}).Allowed {
					taken.Add(int64(n))
				}
			})
		}
		all.Wait()
		if got := taken.Load(); got != 50 {
			t.Errorf("%d were taken, want 50", got)
		}
	})
	given(t, fresh, key)
	changed(t, fresh, key)
}
