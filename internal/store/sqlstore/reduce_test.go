//go:build unix

package sqlstore_test

import (
	"testing"

	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestWalkThatBeganSoonProvesNothing: a login that was decided by the policy of before may be
// committed behind it. So its end is no reason to stop counting, however late it comes.
func TestWalkThatBeganSoonProvesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 3 })
		user, next := w.someone(t), w.someone(t)
		older := w.on(t, user, "phone", "a").Session
		w.on(t, user, "web", "b")
		w.on(t, next, "phone", "a")
		w.on(t, next, "web", "b")
		w.set(t, nothing, "class:phone=sessions:1")
		s := &sqlstore.Sweeps{DB: w.DB}
		walk, _, err := s.Reduce(t.Context(), sweep.Walk{}, 1)
		if err != nil || walk.After != user {
			t.Fatalf("%+v, %v; want it to be past the first user", walk, err)
		}
		w.exec(t, "UPDATE user_slots SET device_class = 'phone' WHERE user_id = ?", int64(user)) // the late commit
		w.exec(t, "UPDATE settings SET updated_at = updated_at - 60000")
		for !walk.Done {
			walk, _, err = s.Reduce(t.Context(), walk, 1)
			must(t, err)
		}
		w.wantEnded(t, "one phone is allowed", session.OverLimit, older)
		for walk = (sweep.Walk{}); !walk.Done; {
			walk, _, err = s.Reduce(t.Context(), walk, 1)
			must(t, err)
		}
		if to := w.number(t, "SELECT reduced_to FROM settings"); to != 3 {
			t.Errorf("a walk that began late enough says that no user has more than %d", to)
		}
		walk, _, err = s.Reduce(t.Context(), sweep.Walk{}, 1)
		if err != nil || !walk.Done {
			t.Errorf("once more: %+v, %v; want nothing to do", walk, err)
		}
	})
}
