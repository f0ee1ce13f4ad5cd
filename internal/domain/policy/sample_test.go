package policy_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
	"pgregory.net/rapid"
)

// At each moment as many live as the policy itself says of each login.
func TestSampleAgreesWithThePolicy(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		hours := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Hour
		}
		p := policy.Policy{Idle: hours("idle", 30), IdleBase: now.Add(-hours("idle base", 60)), AbsoluteBase: now.Add(-hours("absolute base", 60))}
		p.Absolute = p.Idle + hours("more", 30)
		s := policy.Sample{Weight: 2.5}
		for range rapid.IntRange(0, 8).Draw(t, "n") {
			issued := now.Add(-hours("age", 70))
			s.Logins = append(s.Logins, policy.Facts{Issued: issued, Seen: issued.Add(hours("used", int(now.Sub(issued)/time.Hour)))})
		}
		after := []time.Duration{0, time.Hour, 7 * time.Hour, 20 * time.Hour, 90 * time.Hour}
		for i, got := range s.Living(&p, now, after) {
			want := 0.0
			for _, l := range s.Logins {
				at := now.Add(after[i])
				if !p.For("", "").Expired(l.Issued, at) && !p.For("", "").Idled(l.Seen, at) {
					want += 2.5
				}
			}
			if got != want {
				t.Fatalf("after %v %v live, want %v, of %v under %+v", after[i], got, want, s.Logins, p)
			}
		}
		longest := s.Longest(&p, now)
		if got := s.Living(&p, now, []time.Duration{longest}); got[0] != 0 {
			t.Fatalf("%v live after the longest, %v", got, longest)
		}
		if slices.ContainsFunc(s.Logins, func(l policy.Facts) bool { _, over := p.Left(l, now); return !over }) != (longest > 0) {
			t.Fatalf("longest %v of %v", longest, s.Logins)
		}
	})
}

// TestCountOfASampleIsAsFarOffAsItSays: in 19 cases of 20, also if what is counted is so rare that
// a sample may have none of it.
func TestCountOfASampleIsAsFarOffAsItSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const weight, tries = 50, 400
	for _, there := range []int{1, 20, 100, 500, 5000} {
		within := 0
		for range tries {
			s := policy.Sample{Weight: weight, Logins: []policy.Facts{{Class: "phone"}}}
			for range there {
				if r.IntN(weight) == 0 {
					s.Logins = append(s.Logins, policy.Facts{Class: "tv"})
				}
			}
			e := s.Count(func(f policy.Facts) bool { return f.Class == "tv" })
			if off := e.Count - int64(there); max(off, -off) <= e.Error {
				within++
			}
		}
		if within < tries*19/20 {
			t.Errorf("of %d: within what it says in %d of %d samples", there, within, tries)
		}
	}
}
