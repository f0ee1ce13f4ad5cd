package ratelimit_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// What is used of a rule that is gone passes to one of those that are left, and
// to no other, for as long as anything of it can be used.
func TestHeirIsTheNearestPeriod(t *testing.T) {
	var p ratelimit.Periods
	now := time.Unix(1_800_000_000, 0)
	p.Learn("p", time.Minute, now)
	p.Learn("other", time.Hour, now)
	rules := []limit.Rule{{Count: 5, Per: 5 * time.Minute}, {Count: 50, Per: 24 * time.Hour}}
	for i, want := range [][]time.Duration{{time.Minute}, nil} {
		if got := p.Donors(ratelimit.Bucket{Key: "p:x", Rule: rules[i], Beside: rules}, now); !slices.Equal(got, want) {
			t.Errorf("%v takes over %v, want %v", rules[i], got, want)
		}
	}
	if all := p.Of("p:y"); len(all) != 3 {
		t.Errorf("buckets of a key: %v", all)
	}
	if got := p.Donors(ratelimit.Bucket{Key: "p:x", Rule: rules[0], Beside: rules}, now.Add(3*time.Minute)); got != nil {
		t.Errorf("when all has trickled in again: %v", got)
	}
}

// A request that is over gives back all the same, also where a store waits for
// something.
func TestReturnOutlivesItsRequest(t *testing.T) {
	s := &ended{}
	g := limiter(t, nil)
	g.Store = s
	ctx, leave := context.WithCancel(t.Context())
	taken, err := g.Login(ctx, ratelimit.Attempt{Account: "ada", Address: home})
	if err != nil {
		t.Fatal(err)
	}
	leave()
	g.Return(ctx, taken)
	if len(s.errs) != 4 || slices.ContainsFunc(s.errs, func(err error) bool { return err != nil }) {
		t.Errorf("given back in contexts with %v, want 4 that live", s.errs)
	}
}

// ended remembers in what contexts it was given something back.
type ended struct {
	spy
	errs []error
}

func (e *ended) Return(ctx context.Context, _ ratelimit.Bucket, _ ratelimit.Verdict) {
	e.errs = append(e.errs, ctx.Err())
}
