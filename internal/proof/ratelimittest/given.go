package ratelimittest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// given holds a store to what it promises of attempts that are given back.
func given(t *testing.T, fresh func(t *testing.T) ratelimit.Store, key func(t *testing.T) string) {
	t.Helper()
	rule := limit.Rule{Count: 5, Per: time.Hour}
	t.Run("ReturnedIsThereAgain", func(t *testing.T) {
		s, b := fresh(t), ratelimit.Bucket{Key: key(t), Rule: rule}
		for i := range 20 {
			v := s.Take(t.Context(), b)
			if !v.Allowed || v.Remaining != 4 {
				t.Fatalf("attempt %d, after all before were given back: %+v", i+1, v)
			}
			s.Return(t.Context(), b, v)
		}
		var last ratelimit.Verdict
		for range 5 {
			last = s.Take(t.Context(), b)
		}
		if s.Take(t.Context(), b).Allowed {
			t.Fatal("a sixth attempt")
		}
		s.Return(t.Context(), b, last)
		if v := s.Take(t.Context(), b); !v.Allowed || v.Remaining != 0 {
			t.Errorf("the one that was given back: %+v", v)
		}
		if v := s.Take(t.Context(), b); v.Allowed {
			t.Errorf("one more than was given back: %+v", v)
		}
	})
	t.Run("AlsoIfTheClientHasLeft", func(t *testing.T) {
		s, b := fresh(t), ratelimit.Bucket{Key: key(t), Rule: rule}
		gone, leave := context.WithCancel(t.Context())
		leave()
		for i := range 20 {
			v := s.Take(t.Context(), b)
			if !v.Allowed || v.Remaining != 4 {
				t.Fatalf("attempt %d, after the clients of all before had left: %+v", i+1, v)
			}
			s.Return(gone, b, v)
		}
		for s.Take(t.Context(), b).Allowed {
		}
		s.Forget(gone, b.Key)
		if v := s.Take(gone, b); !v.Allowed || v.Remaining != 4 {
			t.Errorf("after all were forgotten: %+v", v)
		}
		if v := s.Take(t.Context(), b); !v.Allowed || v.Remaining != 3 {
			t.Errorf("after an attempt whose client had left: %+v", v)
		}
	})
	t.Run("NeverMoreThanFull", func(t *testing.T) {
		s, b := fresh(t), ratelimit.Bucket{Key: key(t), Rule: rule}
		v := s.Take(t.Context(), b)
		s.Forget(t.Context(), b.Key)
		for range 10 {
			s.Return(t.Context(), b, v)
		}
		through := 0
		for range 10 {
			if s.Take(t.Context(), b).Allowed {
				through++
			}
		}
		if through != 5 {
			t.Errorf("%d got through, want 5", through)
		}
	})
	t.Run("ManyReturnAtTheSameTime", func(t *testing.T) {
		s, b := fresh(t), ratelimit.Bucket{Key: key(t), Rule: limit.Rule{Count: 50, Per: time.Hour}}
		var taken atomic.Int64
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				if v := s.Take(t.Context(), b); !v.Allowed {
					return
				} else if i%2 == 0 {
					s.Return(t.Context(), b, v)
					return
				}
				taken.Add(1)
			})
		}
		all.Wait()
		for s.Take(t.Context(), b).Allowed {
			taken.Add(1)
		}
		if n := taken.Load(); n != 50 {
			t.Errorf("%d were taken and not given back, want 50", n)
		}
	})
}
