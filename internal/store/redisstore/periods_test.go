package redisstore_test

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/redisstore"
)

// An instance that was started after a rule changed has never counted by the one
// before, and lets nobody off for it.
func TestInstanceThatIsNewKnowsTheRulesBefore(t *testing.T) {
	url := testenv.SharedRedis(t)
	before := openBuckets(t, url, nil)
	key := "new:" + t.Name()
	for range 6 {
		before.Take(t.Context(), of(key, rule))
	}
	after := openBuckets(t, url, nil)
	wider := limit.Rule{Count: 5, Per: 30 * 24 * time.Hour}
	if v := after.Take(t.Context(), of(key, wider)); v.Allowed || v.Retry > wider.Interval() {
		t.Errorf("%+v", v)
	}
	// The one that does not know of the change yet counts by the old one, and learns the new one.
	if v := before.Take(t.Context(), of(key, wider)); v.Allowed {
		t.Errorf("where it was counted before: %+v", v)
	}
}

// Who makes an attempt lose its answer from Redis gets nothing back there: it may
// not have been counted, and would be one more than there are.
func TestWhatRedisMayNotHaveCountedIsNotGivenBackThere(t *testing.T) {
	server := testenv.Redis(t)
	s, other := openBuckets(t, server.URL(), nil), openBuckets(t, server.URL(), nil)
	b := of("lost:"+t.Name(), rule)
	for range 5 {
		if !other.Take(t.Context(), b).Allowed {
			t.Fatal("refused")
		}
	}
	server.Pause()
	var lost []ratelimit.Verdict
	for range 2 { // Redis is not given up yet
		v := s.Take(t.Context(), b)
		if !v.Allowed || !v.Shared.At.IsZero() {
			t.Fatalf("%+v", v)
		}
		lost = append(lost, v)
	}
	server.Resume()
	for _, v := range lost {
		s.Return(t.Context(), b, v)
	}
	if v := openBuckets(t, server.URL(), nil).Take(t.Context(), b); v.Allowed { // one that has counted nothing by itself
		t.Errorf("a sixth attempt: %+v", v)
	}
}

// While Redis is away attempts are given back where they were counted.
func TestReturnedWithoutRedis(t *testing.T) {
	server := testenv.Redis(t)
	s := openBuckets(t, server.URL(), nil)
	b := of("away:"+t.Name(), rule)
	first := s.Take(t.Context(), b)
	server.Stop()
	s.Return(t.Context(), b, first) // here; what Redis forgets by itself later is nobody's gain
	through := 0
	var last ratelimit.Verdict
	for range 10 {
		if v := s.Take(t.Context(), b); v.Allowed {
			through, last = through+1, v
		}
	}
	s.Return(t.Context(), b, last)
	if v := s.Take(t.Context(), b); through != 5 || !v.Allowed {
		t.Errorf("%d got through, want 5; then %+v", through, v)
	}
}

// A password may be reset on an instance that has counted nothing since its start,
// or nothing by the rule in force: it fills up what the others have counted.
func TestInstanceThatIsNewForgetsWhatOthersCounted(t *testing.T) {
	url := testenv.SharedRedis(t)
	for name, counted := range map[string]bool{"fresh-a": false, "fresh-b": true} {
		other, fresh := openBuckets(t, url, nil), openBuckets(t, url, nil)
		if counted {
			fresh.Take(t.Context(), of(name+":somebody else", limit.Rule{Count: 3, Per: 25 * time.Hour}))
		}
		key := name + ":" + t.Name()
		for range 6 {
			other.Take(t.Context(), of(key, rule))
		}
		fresh.Forget(t.Context(), key)
		if v := openBuckets(t, url, nil).Take(t.Context(), of(key, rule)); !v.Allowed {
			t.Errorf("%s, where something was counted: %v: still refused, %+v", name, counted, v)
		}
	}
}

// An instance that is new knows the rules before also if Redis has lost its data since they came into force.
func TestRulesBeforeOutliveALossOfRedis(t *testing.T) {
	server := testenv.Redis(t)
	before := openBuckets(t, server.URL(), nil)
	b := of("lost:"+t.Name(), rule)
	before.Take(t.Context(), b)
	server.Command("FLUSHALL")
	redisstore.AMinuteLater(before)
	for range 5 {
		before.Take(t.Context(), b)
	}
	wider := limit.Rule{Count: 5, Per: 30 * 24 * time.Hour}
	if v := openBuckets(t, server.URL(), nil).Take(t.Context(), of(b.Key, wider)); !v.Allowed || v.Remaining > 0 {
		t.Errorf("%+v, want the last of five", v)
	}
}
