package memstore_test

import (
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/proof/ratelimittest"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

func TestStore(t *testing.T) {
	ratelimittest.Conformance(t, func(t *testing.T) ratelimit.Store {
		t.Helper()
		return &memstore.Buckets{}
	})
}

// A clock that was an hour ahead, and is set right, keeps nobody out for an hour.
func TestClockThatIsSetBackKeepsNobodyOut(t *testing.T) {
	s, ahead := &memstore.Buckets{}, time.Now()
	now := memstore.SetBack(ahead, time.Hour)
	if d := ahead.Round(0).Sub(now.Round(0)); d != time.Hour || now.Sub(ahead) != 0 {
		t.Fatalf("set back by %v, and %v by the monotonic clock", d, now.Sub(ahead))
	}
	b := ratelimit.Bucket{Key: "i:7", Rule: limit.Rule{Count: 10, Per: time.Second}}
	for range 10 {
		if !s.TakeAt(b, ahead).Allowed {
			t.Fatal("refused")
		}
	}
	if v := s.TakeAt(b, now); v.Allowed || v.Retry > time.Second {
		t.Errorf("at once: %+v", v)
	}
	if v := s.TakeAt(b, now.Add(time.Second)); !v.Allowed {
		t.Errorf("after the period: %+v", v)
	}
}
