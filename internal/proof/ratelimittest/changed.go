package ratelimittest

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

// changed holds a store to what it promises when a rule changes: what was used
// stays used, as a share of the whole, so that no client is let off, nor waits longer
// for one attempt than the new rule demands.
func changed(t *testing.T, fresh func(t *testing.T) ratelimit.Store, key func(t *testing.T) string) {
	t.Helper()
	take := func(s ratelimit.Store, key string, r limit.Rule, n int) (v ratelimit.Verdict) {
		for range n {
			v = s.Take(t.Context(), ratelimit.Bucket{Key: key, Rule: r})
		}
		return v
	}
	before := limit.Rule{Count: 6, Per: hour}
	rules := map[string]limit.Rule{
		"fewer": {Count: 3, Per: hour}, "more": {Count: 60, Per: hour}, "longer": {Count: 6, Per: 30 * day}, "shorter": {Count: 6, Per: time.Minute},
		"another in all": {Count: 12, Per: 7 * day},
	}
	for name, after := range rules {
		t.Run("UsedUpStaysUsedUp/"+name, func(t *testing.T) {
			s, key := fresh(t), key(t)
			take(s, key, before, 7)
			for i := range 3 {
				v := take(s, key, after, 1)
				if v.Allowed || v.Retry <= 0 || v.Retry > after.Interval() || v.Reset > after.Per+time.Second {
					t.Errorf("attempt %d under the new rule: %+v, want one more within %v", i+1, v, after.Interval())
				}
			}
		})
		t.Run("SomeStaysFree/"+name, func(t *testing.T) {
			s, key := fresh(t), key(t)
			take(s, key, before, 2) // a third
			want := after.Count - (after.Count+2)/3 - 1
			if v := take(s, key, after, 1); !v.Allowed || v.Remaining < want || v.Remaining > want+1 {
				t.Errorf("a third was used: %+v, want %d left or one more", v, want)
			}
		})
	}
	t.Run("ThereAndBack", func(t *testing.T) {
		s, key := fresh(t), key(t)
		take(s, key, before, 1)
		other := limit.Rule{Count: 6, Per: 30 * day}
		take(s, key, other, 6) // five more, and one that is refused
		if v := take(s, key, before, 1); v.Allowed {
			t.Errorf("what was used under the other rule is forgotten: %+v", v)
		}
	})
	t.Run("TwiceInARow", func(t *testing.T) {
		s, key, seen := fresh(t), key(t), key(t)
		take(s, key, before, 7)
		take(s, seen, limit.Rule{Count: 6, Per: day}, 1) // another one is counted by the rule between
		if v := take(s, key, limit.Rule{Count: 6, Per: 2 * day}, 1); v.Allowed {
			t.Errorf("%+v", v)
		}
	})
	t.Run("ForgottenStaysForgotten", func(t *testing.T) {
		s, key := fresh(t), key(t)
		take(s, key, before, 7)
		s.Forget(t.Context(), key)
		if v := take(s, key, rules["longer"], 1); !v.Allowed || v.Remaining != 5 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("RuleIsGone", func(t *testing.T) {
		s, key := fresh(t), key(t)
		both := []limit.Rule{{Count: 5, Per: time.Minute}, {Count: 20, Per: hour}}
		for range 5 {
			for _, r := range both {
				s.Take(t.Context(), ratelimit.Bucket{Key: key, Rule: r, Beside: both})
			}
		}
		if v := take(s, key, limit.Rule{Count: 6, Per: hour}, 1); v.Allowed {
			t.Errorf("all was used of the rule that is gone: %+v", v)
		}
	})
	t.Run("RulesBesideEachOther", func(t *testing.T) {
		s, key := fresh(t), key(t)
		all := func(rules ...limit.Rule) (refused int) {
			for i, r := range rules {
				if v := s.Take(t.Context(), ratelimit.Bucket{Key: key, Rule: r, Beside: rules}); !v.Allowed {
					return i + 1
				}
			}
			return 0
		}
		minutes, long := limit.Rule{Count: 3, Per: time.Minute}, limit.Rule{Count: 20, Per: day}
		for range 4 {
			all(minutes, long)
		}
		after := []limit.Rule{{Count: 3, Per: 5 * time.Minute}, long}
		if n := all(after...); n != 1 {
			t.Errorf("refused by %d, want the heir of the short rule", n)
		}
		// Of the long one three of twenty are used, whatever became of the others.
		v := s.Take(t.Context(), ratelimit.Bucket{Key: key, Rule: long, Beside: after})
		if !v.Allowed || v.Remaining != 16 {
			t.Errorf("the long rule: %+v, want 16 left", v)
		}
	})
}
