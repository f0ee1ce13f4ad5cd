//go:build unix

package sqlstore_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

func TestPolicyIsReplacedWithItsHistoryAndItsEvent(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.settings()
		before := time.Now().Add(-time.Second)
		next := policy.Default()
		next.Idle, next.Absolute, next.Touch, next.Schedule = time.Hour, 2*time.Hour, 30*time.Second, "@every 5m"
		next.UpdatedBy, next.Note = "ada", "tighter"
		event := audit.Event{ID: 77, By: shell, Action: audit.PolicyChanged, Old: []byte(`{"a":1}`)}
		got, err := s.SetPolicy(t.Context(), 1, next, event)
		if err != nil || got.Version != 2 || got.Idle != time.Hour || got.Absolute != 2*time.Hour || got.Touch != 30*time.Second ||
			got.Schedule != "@every 5m" || got.UpdatedBy != "ada" || got.Note != "tighter" || got.UpdatedAt.Before(before) {
			t.Fatalf("SetPolicy: %+v, %v", got, err)
		}
		// The bases are the watermarks of the policy of before.
		def := policy.Default()
		for name, off := range map[string]time.Duration{
			"idle": got.IdleBase.Sub(got.UpdatedAt.Add(-def.Idle)), "absolute": got.AbsoluteBase.Sub(got.UpdatedAt.Add(-def.Absolute)),
		} {
			if off.Abs() > time.Second {
				t.Errorf("the %s base is off by %v", name, off)
			}
		}
		history, err := s.PolicyHistory(t.Context(), 0, 10)
		if err != nil || len(history) != 2 || history[0].Version != 2 || history[1].Version != 1 || history[1].Idle != def.Idle ||
			history[0].Note != "tighter" {
			t.Errorf("history: %+v, %v", history, err)
		}
		if page, err := s.PolicyHistory(t.Context(), 2, 1); err != nil || len(page) != 1 || page[0].Version != 1 {
			t.Errorf("history below 2: %+v, %v", page, err)
		}
		events, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Limit: 10})
		if err != nil || len(events) != 1 || events[0].ID != 77 || events[0].By != shell || string(events[0].Old) != `{"a":1}` || events[0].New != nil {
			t.Errorf("events: %+v, %v", events, err)
		}

		// Another version, or an event that cannot be written: nothing changes.
		if _, err := s.SetPolicy(t.Context(), 1, next, audit.Event{By: shell, ID: 78}); !errors.Is(err, policy.ErrVersion) {
			t.Errorf("an old version: %v", err)
		}
		if _, err := s.SetPolicy(t.Context(), 2, next, audit.Event{By: shell, ID: 79, Action: audit.Action(strings.Repeat("x", 49))}); err == nil {
			t.Error("an event that does not fit: no error")
		}
		if now, err := s.LoadPolicy(t.Context()); err != nil || now.Version != 2 {
			t.Errorf("in force: %+v, %v", now, err)
		}
	})
}

// TestWhoSetsAPolicyIsToldOfThatOne: another operator, who has seen it, sets the next one before the answer is read.
func TestWhoSetsAPolicyIsToldOfThatOne(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var committed atomic.Bool
		set := func(version int64, note string) (policy.Policy, error) {
			p := policy.Default()
			p.Note = note
			return w.settings().SetPolicy(t.Context(), version, p, audit.Event{By: shell, ID: idworker.ID(version), Action: audit.PolicyChanged})
		}
		w.beforeRows(t, func(db *gorm.DB) {
			if _, within := db.Statement.ConnPool.(gorm.TxCommitter); !within && committed.CompareAndSwap(false, true) {
				_, err := set(2, "the next one")
				must(t, err)
			}
		})
		if got, err := set(1, "mine"); err != nil || got.Version != 2 || got.Note != "mine" {
			t.Errorf("told of version %d, %q, %v", got.Version, got.Note, err)
		}
	})
}

func TestOneOfManyEditorsWins(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var won atomic.Int64
		atOnce(8, func(i int) {
			_, err := w.settings().SetPolicy(t.Context(), 1, policy.Default(), audit.Event{By: shell, ID: idworker.ID(i + 1), Action: audit.PolicyChanged})
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, policy.ErrVersion):
				t.Errorf("editor %d: %v", i, err)
			}
		})
		if n := won.Load(); n != 1 {
			t.Errorf("%d editors replaced version 1", n)
		}
	})
}

// Random edits: what was over under the policy of before stays over.
func TestEditsReviveNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		r := rand.New(rand.NewPCG(1, 2))
		inForce, err := w.settings().LoadPolicy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			next := inForce
			next.Absolute = time.Duration(1+r.Int64N(400*24)) * time.Hour
			next.Idle = time.Minute + time.Duration(r.Int64N(int64(next.Absolute-time.Minute)))
			was := time.Now()
			got, err := w.settings().SetPolicy(t.Context(), inForce.Version, next, audit.Event{By: shell, ID: idworker.ID(i + 1), Action: audit.PolicyChanged})
			if err != nil {
				t.Fatal(err)
			}
			const tick = time.Millisecond // the database's clock counts in these
			if got.For("", "").OldestSeen(was).Add(tick).Before(inForce.For("", "").OldestSeen(was)) || got.For("", "").OldestIssued(was).Add(tick).Before(inForce.For("", "").OldestIssued(was)) {
				t.Fatalf("the watermarks moved back: %+v after %+v", got, inForce)
			}
			inForce = got
		}
	})
}

// The effect of a change, counted and by hand.
func TestEffectIsExactForAFew(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		r := rand.New(rand.NewPCG(3, 4))
		logins := w.scatter(t, r, 900)
		for range 12 {
			inForce, next := anyPolicy(r), anyPolicy(r)
			got, err := w.settings().Effect(t.Context(), inForce, next, start)
			if err != nil {
				t.Fatal(err)
			}
			if want := effectOf(logins, inForce, next); got != want {
				t.Errorf("from %v/%v to %v/%v: %+v, want %+v", inForce.Idle, inForce.Absolute, next.Idle, next.Absolute, got, want)
			}
		}
	})
}

// Of many, a sample: the truth lies within the stated error, nearly always.
func TestEffectIsEstimatedForMany(t *testing.T) {
	w := newWorld(t, kinds[0].options(t))
	r := rand.New(rand.NewPCG(5, 6))
	logins := w.scatter(t, r, 5_000)
	w.SetExactly(200)
	outside, estimates := 0, 0
	for range 40 {
		inForce, next := anyPolicy(r), anyPolicy(r)
		got, err := w.settings().Effect(t.Context(), inForce, next, start)
		if err != nil {
			t.Fatal(err)
		}
		want := effectOf(logins, inForce, next)
		for _, e := range [][2]policy.Estimate{{got.Live, want.Live}, {got.Ends, want.Ends}, {got.Soon, want.Soon}} {
			if e[0].Error == 0 && e[0] != e[1] {
				t.Errorf("%+v is said to be exact, and is %+v", e[0], e[1])
			}
			if e[0].Error > 0 {
				estimates++
				if d := e[0].Count - e[1].Count; max(d, -d) > e[0].Error {
					outside++
				}
			}
		}
	}
	// One in twenty is outside by what the error means; the three of a change come
	// from one sample and are outside together. With half of the error it is every third.
	if estimates < 40 || outside*5 > estimates {
		t.Errorf("%d of %d estimates are further off than they say", outside, estimates)
	}
}

// On a database that is slow to read rows, what a shorter life ends is estimated,
// with the error, where it would have been counted: a preview is not late.
func TestEffectIsEstimatedWhereRowsAreSlow(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const day = 24 * time.Hour
		logins := w.scatter(t, rand.New(rand.NewPCG(5, 6)), 3_000)
		inForce, next := policy.Default(), policy.Default()
		inForce.Absolute, inForce.Idle = 90*day, 89*day
		next.Absolute, next.Idle = 10*day, 10*day
		want := effectOf(logins, inForce, next)
		w.SetHurry(time.Minute)
		if got, err := w.settings().Effect(t.Context(), inForce, next, start); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		w.SetHurry(0)
		for range 5 {
			got, err := w.settings().Effect(t.Context(), inForce, next, start)
			if err != nil || got.Ends.Error == 0 || got.Live != want.Live {
				t.Errorf("%+v, %v; want an estimate of what ends, and %+v", got, err, want.Live)
			}
			if off := got.Ends.Count - want.Ends.Count; max(off, -off) > 2*got.Ends.Error {
				t.Errorf("%+v is too far off %+v", got.Ends, want.Ends)
			}
		}
	})
}

// scatter makes logins that were begun within the last 60 days before start,
// and used since, or not.
func (w *world) scatter(t *testing.T, r *rand.Rand, n int) (logins [][2]time.Time) {
	t.Helper()
	const day = 24 * time.Hour
	w.ids.last = idworker.Default().Smallest(start.Add(-90 * day))
	w.logins(t, n, func(i int) (idworker.ID, session.Hash, time.Time) {
		issued := start.Add(-time.Duration(r.Int64N(int64(60 * day)))).Truncate(time.Millisecond)
		seen := issued.Add(time.Duration(r.Int64N(int64(start.Sub(issued)) + 1))).Truncate(time.Millisecond)
		logins = append(logins, [2]time.Time{issued, seen})
		id := idworker.Default().Smallest(issued) + idworker.ID(i%4096)
		return id, hashOf(id), seen
	})
	return logins
}

func anyPolicy(r *rand.Rand) policy.Policy {
	const day = 24 * time.Hour
	p := policy.Default()
	p.Absolute = day + time.Duration(r.Int64N(int64(69*day)))
	p.Idle = time.Hour + time.Duration(r.Int64N(int64(p.Absolute-time.Hour)))
	return p
}

// effectOf asks the policies about every login.
func effectOf(logins [][2]time.Time, inForce, next policy.Policy) (e policy.Effect) {
	after := inForce.Succeed(next, start)
	over := func(p *policy.Policy, l [2]time.Time, at time.Time) bool {
		return p.For("", "").Expired(l[0], at) || p.For("", "").Idled(l[1], at)
	}
	for _, l := range logins {
		switch {
		case over(&inForce, l, start):
			continue
		case over(&after, l, start):
			e.Ends.Count++
		case over(&after, l, start.Add(time.Hour)):
			e.Soon.Count++
		}
		e.Live.Count++
	}
	return e
}
