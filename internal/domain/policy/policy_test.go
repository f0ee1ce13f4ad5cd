package policy_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// edit is what a change of a timeout does to the bases.
func edit(p policy.Policy, now time.Time, idle, absolute time.Duration) policy.Policy {
	p.IdleBase, p.AbsoluteBase = p.For("", "").OldestSeen(now), p.For("", "").OldestIssued(now)
	p.Idle, p.Absolute = idle, absolute
	p.Version++
	return p
}

// TestWatermarksNeverMoveBack makes thousands of random edits while time runs
// on. Whatever is over stays over.
func TestWatermarksNeverMoveBack(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		between := func(least, most time.Duration) time.Duration {
			return least + time.Duration(r.Int64N(int64(most-least)))
		}
		p, now := policy.Default(), noon
		type login struct {
			issued, seen  time.Time
			expired, idle bool
		}
		var logins []login
		for range 300 {
			issued, seen := p.For("", "").OldestIssued(now), p.For("", "").OldestSeen(now)
			switch r.IntN(3) {
			case 0:
				p = edit(p, now, between(time.Minute, 400*24*time.Hour), between(time.Minute, 400*24*time.Hour))
			case 1:
				now = now.Add(between(0, 20*24*time.Hour))
			default:
				at := now.Add(-between(0, 100*24*time.Hour))
				logins = append(logins, login{issued: at, seen: at.Add(between(0, now.Sub(at)+1))})
			}
			if p.For("", "").OldestIssued(now).Before(issued) || p.For("", "").OldestSeen(now).Before(seen) {
				t.Fatalf("seed %d: the watermarks moved back from %v, %v to %v, %v", seed, issued, seen, p.For("", "").OldestIssued(now), p.For("", "").OldestSeen(now))
			}
			for i := range logins {
				l := &logins[i]
				expired, idle := p.For("", "").Expired(l.issued, now), p.For("", "").Idled(l.seen, now)
				if (l.expired && !expired) || (l.idle && !idle) {
					t.Fatalf("seed %d: a login that was over is not any more", seed)
				}
				l.expired, l.idle = expired, idle
			}
		}
	}
}

// TestClockThatStepsBackRevivesNothingAnEditEnded: the base of an edit holds
// whatever the clock says later.
func TestClockThatStepsBackRevivesNothingAnEditEnded(t *testing.T) {
	p := policy.Default()
	over := noon.Add(-p.Idle)
	p = edit(p, noon, 400*24*time.Hour, 400*24*time.Hour)
	for _, step := range []time.Duration{time.Second, time.Hour, 365 * 24 * time.Hour} {
		now := noon.Add(-step)
		if !p.For("", "").Idled(over, now) || !p.For("", "").Expired(noon.Add(-policy.Default().Absolute), now) {
			t.Errorf("clock set back by %v: what was over at the edit is alive", step)
		}
	}
	for _, step := range []time.Duration{time.Second, time.Hour} {
		if p.For("", "").Idled(over.Add(time.Millisecond), noon.Add(-step)) {
			t.Errorf("clock set back by %v: what lived at the edit is over", step)
		}
	}
}

func TestShorteningActsAtOnceAndLengtheningOnlyOnTheLiving(t *testing.T) {
	p := policy.Default()
	seen := noon.Add(-time.Hour)
	if p.For("", "").Idled(seen, noon) {
		t.Fatal("idle after an hour of 14 days")
	}
	p = edit(p, noon, 30*time.Minute, p.Absolute)
	if !p.For("", "").Idled(seen, noon) || p.For("", "").Idled(noon.Add(-29*time.Minute), noon) {
		t.Error("a timeout of 30 minutes does not act at once")
	}
	p = edit(p, noon, 90*24*time.Hour, p.Absolute)
	if !p.For("", "").Idled(seen, noon) {
		t.Error("a longer timeout revives what was over")
	}
	if later := noon.Add(80 * 24 * time.Hour); p.For("", "").Idled(noon.Add(-29*time.Minute), later) {
		t.Error("a longer timeout does not extend what lives")
	}
}

func TestLastInstant(t *testing.T) {
	p := policy.Policy{Idle: time.Hour, Absolute: 2 * time.Hour}
	if !p.For("", "").Idled(noon.Add(-time.Hour), noon) || p.For("", "").Idled(noon.Add(-time.Hour+1), noon) {
		t.Error("idle is: for that long, or longer")
	}
	if !p.For("", "").Expired(noon.Add(-2*time.Hour), noon) || p.For("", "").Expired(noon.Add(-2*time.Hour+1), noon) {
		t.Error("expired is: that old, or older")
	}
}

// TestReturnedExpiryIsWhenTheSessionEnds compares the instants that a client gets with
// what is then decided.
func TestReturnedExpiryIsWhenTheSessionEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		p := policy.Policy{Idle: time.Duration(r.Int64N(1e15) + 1), Absolute: time.Duration(r.Int64N(1e15) + 1)}
		issued := noon.Add(-time.Duration(r.Int64N(1e15)))
		seen := issued.Add(time.Duration(r.Int64N(1e15)))
		absolute, idle := p.For("", "").ExpiresAt(issued), p.For("", "").IdleExpiresAt(issued, seen)
		if idle.After(absolute) {
			t.Fatalf("%+v: idle at %v, after it expires at %v", p, idle, absolute)
		}
		over := func(now time.Time) bool { return p.For("", "").Expired(issued, now) || p.For("", "").Idled(seen, now) }
		if !over(idle) || over(idle.Add(-1)) {
			t.Fatalf("%+v: returned %v, which is not when it ends", p, idle)
		}
		if !p.For("", "").Expired(issued, absolute) || p.For("", "").Expired(issued, absolute.Add(-1)) {
			t.Fatalf("%+v: returned %v, which is not when it expires", p, absolute)
		}
	}
}

func TestDefaultIsWithinItsOwnLimits(t *testing.T) {
	p := policy.Default()
	if p.Touch <= 0 || p.Touch >= p.Idle || p.Idle > p.Absolute || p.Absolute > 30*24*time.Hour || p.Version < 1 {
		t.Errorf("%+v: want 0 < touch < idle <= absolute <= 30 days", p)
	}
	if !p.IdleBase.IsZero() || !p.AbsoluteBase.IsZero() {
		t.Error("a new deployment has ended nothing")
	}
}
