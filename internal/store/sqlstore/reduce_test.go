//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
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

// TestWalkPassesByAUserWhoCannotBeReduced, and says so; it proves nothing then. The next one
// tries again.
func TestWalkPassesByAUserWhoCannotBeReduced(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 })
		var users []idworker.ID
		for range 3 {
			users = append(users, w.someone(t))
			w.on(t, users[len(users)-1], "phone", "a")
			w.on(t, users[len(users)-1], "web", "b")
		}
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 1 })
		w.exec(t, "UPDATE settings SET updated_at = updated_at - 60000")
		cure := w.poison(t, users[1])
		s := &sqlstore.Sweeps{DB: w.DB}
		through := func() (ended, failed int) {
			t.Helper()
			for walk, calls := (sweep.Walk{}), 0; !walk.Done; calls++ {
				next, n, err := s.Reduce(t.Context(), walk, 100)
				ended += n
				switch {
				case errors.Is(err, sweep.ErrUnclearable) && next.After == users[1]:
					failed++
				case err != nil || calls > 9:
					t.Fatalf("%+v after %+v, %v", next, walk, err)
				}
				walk = next
			}
			return ended, failed
		}
		for _, want := range []int{2, 0} {
			if ended, failed := through(); ended != want || failed != 1 {
				t.Errorf("%d ended and %d users refused, want %d and 1", ended, failed, want)
			}
			if to := w.number(t, "SELECT reduced_to FROM settings"); to != 2 {
				t.Errorf("it says that no user has more than %d", to)
			}
		}
		cure()
		if ended, failed := through(); ended != 1 || failed != 0 {
			t.Errorf("cured: %d ended and %d users refused", ended, failed)
		}
		if to := w.number(t, "SELECT reduced_to FROM settings"); to != 1 {
			t.Errorf("in the end it says that no user has more than %d", to)
		}
	})
}

// TestWalkPassesByAUserWhoIsHeld by a transaction that hangs.
func TestWalkPassesByAUserWhoIsHeld(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		if w.Dialect() == migrations.SQLite {
			return // which knows no locks of rows
		}
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 })
		var users []idworker.ID
		for range 3 {
			users = append(users, w.someone(t))
			w.on(t, users[len(users)-1], "phone", "a")
			w.on(t, users[len(users)-1], "web", "b")
		}
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 1 })
		tx, err := w.SQL().BeginTx(t.Context(), nil)
		must(t, err)
		defer func() { _ = tx.Rollback() }()
		_, err = tx.ExecContext(t.Context(), "UPDATE users SET updated_at = 1 WHERE id = ?", int64(users[1]))
		must(t, err)
		s := &sqlstore.Sweeps{DB: w.DB}
		walk, n, err := s.Reduce(t.Context(), sweep.Walk{}, 100)
		if !errors.Is(err, sweep.ErrUnclearable) || walk.After != users[1] || n != 1 {
			t.Errorf("%+v, %d ended, %v; want it to be past the second user", walk, n, err)
		}
		if walk, n, err = s.Reduce(t.Context(), walk, 100); err != nil || walk.After != users[2] || n != 1 {
			t.Errorf("%+v, %d ended, %v; want the third", walk, n, err)
		}
	})
}

// TestReduceReturnsAfterAWhile: what one call does is bounded, and the next goes on behind it.
func TestReduceReturnsAfterAWhile(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 })
		const users = 50
		for range users {
			user := w.someone(t)
			w.on(t, user, "phone", "a")
			w.on(t, user, "web", "b")
		}
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 1 })
		w.SetHurry(-time.Second) // each commit takes longer than that
		s := &sqlstore.Sweeps{DB: w.DB}
		walk, calls, all := sweep.Walk{}, 0, 0
		for ; !walk.Done; calls++ {
			next, n, err := s.Reduce(t.Context(), walk, 1000)
			if err != nil || !next.Done && next.After <= walk.After || n > 1 {
				t.Fatalf("%+v after %+v, %d ended, %v", next, walk, n, err)
			}
			walk, all = next, all+n
		}
		if all != users || calls < users {
			t.Errorf("%d ended in %d calls", all, calls)
		}
	})
}

// TestEndsByALowerLimitAreOnRecord, whoever finds them, if what expires is. Without an ID for
// the event nothing ends.
func TestEndsByALowerLimitAreOnRecord(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 4 })
		var all [3][]session.Session
		for i := range all {
			user := w.someone(t)
			for _, class := range []string{"phone", "web", "tv", "tablet"} {
				all[i] = append(all[i], w.on(t, user, class, "").Session)
			}
		}
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 })
		w.wantEnded(t, "without a record", session.OverLimit, all[0][0])
		recorded := func() []audit.Event {
			t.Helper()
			events, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Action: audit.LoginExpired, Limit: 100})
			must(t, err)
			return events
		}
		if got := recorded(); len(got) != 0 {
			t.Errorf("not wanted: %+v", got)
		}
		w.RecordOverLimit(noIDs{})
		if got, err := w.sessions.Get(t.Context(), all[1][0].ID, session.Hash{}); err == nil {
			t.Errorf("without an ID for the event: %+v", got)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM user_slots WHERE user_id = ? AND token_id IS NOT NULL", int64(all[1][0].UserID)); n != 3 {
			t.Errorf("%d further sessions are left of a user, want all", n)
		}
		w.RecordOverLimit(w.ids)
		w.wantEnded(t, "read", session.OverLimit, all[1][0], all[1][1])
		_, n, err := (&sqlstore.Sweeps{DB: w.DB}).Reduce(t.Context(), sweep.Walk{}, 100)
		if err != nil || n != 2 {
			t.Errorf("the sweep ended %d, %v", n, err)
		}
		ended := map[string]idworker.ID{}
		for _, e := range recorded() {
			ended[string(e.New)] = e.Target.ID
			if e.Target.Kind != "user" || e.Target.Name == "" || e.By != (audit.Actor{Name: "flakepass", Via: audit.ViaServer}) {
				t.Errorf("the event is %+v", e)
			}
		}
		for _, s := range []session.Session{all[1][0], all[1][1], all[2][0], all[2][1]} {
			if text := fmt.Sprintf(`{"session_id":"%d","reason":"over_limit"}`, s.ID); ended[text] != s.UserID {
				t.Errorf("no event %s in %v", text, ended)
			}
		}
		if len(recorded()) != 4 {
			t.Errorf("%d events, want 4: %v", len(recorded()), ended)
		}
		w.sound(t)
	})
}

// noIDs mints none.
type noIDs struct{}

func (noIDs) Next(context.Context) (idworker.ID, error) { return 0, errors.New("no worker number") }
