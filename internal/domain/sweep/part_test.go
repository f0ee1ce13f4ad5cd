//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package sweep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// A parted store has logins in a part of the policy only, all of them idle.
type parted struct {
	*store
	look   func(m sweep.Marks, from sweep.Cursor) error // of a part
	held   map[idworker.ID]bool                         // another transaction has their rows
	idle   []sweep.Cursor                               // from where each part was looked at
	rare   bool                                         // none of what is looked at is over
	counts map[policy.Scope]int
}

func (s *parted) Stale(ctx context.Context, m sweep.Marks, from sweep.Cursor, limit int) ([]sweep.Login, sweep.Cursor, error) {
	if m.Part == nil || from.Stage != sweep.Idle {
		return nil, sweep.Cursor{Stage: from.Stage + 1}, nil
	}
	s.counts[m.Part.Scope]++
	s.idle = append(s.idle, from)
	if s.look != nil {
		if err := s.look(m, from); err != nil {
			return nil, from, err
		}
	}
	found, to, err := s.store.Stale(ctx, m, from, limit)
	if s.rare {
		found = nil
	}
	return found, to, err
}

func (s *parted) Clear(ctx context.Context, m sweep.Marks, stage sweep.Stage, logins []sweep.Login, events []idworker.ID) (int, error) {
	var free []sweep.Login
	for _, l := range logins {
		if !s.held[l.Token] {
			free = append(free, l)
		}
	}
	return s.store.Clear(ctx, m, stage, free, events)
}

// inParts has a part of the policy for each of those roles, and n idle logins.
func inParts(w *world, n int, roles ...string) *parted {
	s := &parted{store: w.store, held: map[idworker.ID]bool{}, counts: map[policy.Scope]int{}}
	w.Store = s
	w.policy.p.Scopes = map[policy.Scope]policy.Expiry{{}: w.policy.p.For("", "")}
	for _, role := range roles {
		e := w.policy.p.For("", "")
		e.Idle = time.Hour
		w.policy.p.Scopes[policy.Scope{Role: role}] = e
	}
	w.store.fill(sweep.Idle, n)
	first := time.Now().Add(-24 * time.Hour).UnixMilli()
	for i := range w.store.left[sweep.Idle] {
		w.store.left[sweep.Idle][i].Value = first + int64(i)
	}
	return s
}

// TestPartThatTakesTooLongKeepsNothingElseWaiting: neither the search for users with too many
// sessions nor another part.
func TestPartThatTakesTooLongKeepsNothingElseWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := inParts(w, 10, "admin", "service")
		slow := policy.Scope{Role: "admin"}
		s.look = func(m sweep.Marks, _ sweep.Cursor) error {
			if m.Part.Scope != slow {
				return nil
			}
			time.Sleep(3 * time.Second)
			return context.DeadlineExceeded
		}
		searched := 0
		w.store.reduce = func(context.Context, sweep.Walk, int) (sweep.Walk, int, error) {
			searched++
			return sweep.Walk{Done: true}, 0, nil
		}
		r := w.once(t)
		if r.Outcome != sweep.Ceiling || r.Cleared != 10 || searched != 1 || s.counts[slow] == 0 {
			t.Errorf("%+v, %d searches, looked at %v", r, searched, s.counts)
		}
	})
}

// TestPartGoesOnWhereItsTimeWasOver: also if nothing of it is found for long.
func TestPartGoesOnWhereItsTimeWasOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := inParts(w, 50_000, "admin")
		s.rare = true
		s.look = func(sweep.Marks, sweep.Cursor) error { time.Sleep(780 * time.Millisecond); return nil }
		w.Limits.Batch = time.Second
		passes, last := 0, sweep.Cursor{}
		for outcome := sweep.Ceiling; outcome == sweep.Ceiling && passes < 9; passes++ {
			s.idle, w.runs.kept = nil, 0
			outcome = w.once(t).Outcome
			if last.Value != 0 && (s.idle[0].Value <= last.Value || s.idle[0].Value > last.Value+400) {
				t.Errorf("pass %d goes on at %+v, want it right behind %+v", passes, s.idle[0], last)
			}
			if outcome == sweep.Ceiling && w.runs.kept < 10 {
				t.Errorf("the lease was made longer %d times in a pass", w.runs.kept)
			}
			last = s.idle[len(s.idle)-1]
		}
		if passes != 2 {
			t.Errorf("it took %d passes", passes)
		}
	})
}

// TestPartLooksAgainAtWhatItCouldNotClear, and at nothing else.
func TestPartLooksAgainAtWhatItCouldNotClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := inParts(w, 1000, "admin")
		held := w.store.left[sweep.Idle][500]
		s.held[held.Token] = true
		for pass, want := range []struct {
			cleared int64
			looks   int // at what was found before
		}{{999, 0}, {0, 1}, {1, 1}, {0, 0}} {
			if s.idle = nil; pass == 2 {
				delete(s.held, held.Token)
			}
			r, looks := w.once(t), 0
			for _, from := range s.idle {
				if pass > 0 && from.Value < held.Value {
					looks++
				}
			}
			if r.Cleared != want.cleared || looks != want.looks || r.Outcome != sweep.Done {
				t.Errorf("pass %d: %+v, %d looks before it; want %+v", pass, r, looks, want)
			}
		}
	})
}

// staged clears, as the database does, only by the condition of the stage that it is told: what is
// idle is not expired.
type staged struct{ *parted }

func (s staged) Clear(ctx context.Context, m sweep.Marks, stage sweep.Stage, logins []sweep.Login, events []idworker.ID) (int, error) {
	if stage != sweep.Idle {
		return 0, nil
	}
	return s.parted.Clear(ctx, m, stage, logins, events)
}

// clearedOnceFree fails if a login that is held at the first pass, which clears all others, is not cleared
// by those that follow.
func clearedOnceFree(t *testing.T, w *world, s *parted, held sweep.Login, others int64) {
	t.Helper()
	s.held[held.Token] = true
	if r := w.once(t); r.Cleared != others {
		t.Fatalf("%+v", r)
	}
	delete(s.held, held.Token)
	for range 3 {
		w.once(t)
	}
	if w.store.cleared[held.Token] != 1 {
		t.Error("a login that was held once is never cleared")
	}
}

// TestPartClearsAtItsSecondLookWhatWasHeld by another transaction at the first look: by the
// condition of the stage in which it was found.
func TestPartClearsAtItsSecondLookWhatWasHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := inParts(w, 1000, "admin")
		w.Store = staged{s}
		clearedOnceFree(t, w, s, w.store.left[sweep.Idle][500], 999)
	})
}

// TestPartLooksAgainAlsoWhereItsFirstLookBegan: at the mark of all. In a small
// deployment it is the only look of the pass.
func TestPartLooksAgainAlsoWhereItsFirstLookBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := inParts(w, 300, "admin")
		clearedOnceFree(t, w, s, w.store.left[sweep.Idle][100], 299)
	})
}

// TestCountLooksAtLessThatTakesTooLong, instead of failing.
func TestCountLooksAtLessThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := inParts(w, 3000, "admin")
		tries := 0
		s.look = func(sweep.Marks, sweep.Cursor) error {
			if tries++; tries < 4 {
				return context.DeadlineExceeded
			}
			return nil
		}
		if n, err := w.Count(t.Context(), nil); err != nil || n.Idle != 3000 {
			t.Errorf("%+v, %v", n, err)
		}
		s.look = func(sweep.Marks, sweep.Cursor) error { return context.DeadlineExceeded }
		if n, err := w.Count(t.Context(), nil); err == nil {
			t.Errorf("%+v of what cannot be read", n)
		}
	})
}
