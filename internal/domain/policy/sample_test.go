package policy_test

import (
	"maps"
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

// TestLoginsCountAsTheClassThatTheyHave: also as one that the policy no longer has. Lists find
// them under it, and under no other.
func TestLoginsCountAsTheClassThatTheyHave(t *testing.T) {
	p, now := policy.Default(), time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	p.Classes = []string{"other", "phone"}
	s := policy.Sample{Weight: 1}
	for _, class := range []string{"phone", "tv", "tv", "other", ""} {
		s.Logins = append(s.Logins, policy.Facts{Issued: now, Seen: now, Class: class})
	}
	s.Logins = append(s.Logins, policy.Facts{Issued: now.Add(-p.Absolute), Seen: now, Class: "watch"})
	want := map[string]policy.Estimate{"phone": {Count: 1}, "tv": {Count: 2}, "other": {Count: 2}}
	if got := s.ByClass(&p, now); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.Classes = append(p.Classes, "car")
	if got := s.ByClass(&p, now)["car"]; got != (policy.Estimate{}) || len(s.ByClass(&p, now)) != 4 {
		t.Errorf("a class without a login: %v", got)
	}
	s.Weight = 10
	if got := s.ByClass(&p, now)["tv"]; got.Count != 20 || got.Error == 0 {
		t.Errorf("of a sample: %v", got)
	}
}
