//go:build unix

package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

func (m *minter) Next(context.Context) (idworker.ID, error) { return m.next(0), nil }

func (m *minter) NextN(_ context.Context, dst []idworker.ID) (int, error) {
	for i := range dst {
		dst[i] = m.next(0)
	}
	return len(dst), nil
}

// sweeper is one of an instance of its own, under a policy by which crowds of a
// test are over.
func (w *world) sweeper(t testing.TB) *sweep.Sweeper {
	t.Helper()
	store := &sqlstore.Sweeps{DB: open(t, w.options)}
	p := policy.Default()
	p.AbsoluteBase = start.Add(time.Hour)
	return &sweep.Sweeper{
		Store: store, Runs: store, Policy: w.follow(t, p), IDs: w.ids, Log: slog.New(slog.DiscardHandler), Instance: t.Name(),
		// A machine that is busy with other tests is not a database that is slow.
		Limits: sweep.Limits{Batch: 2 * time.Second, Largest: 500},
	}
}

func once(t testing.TB, s *sweep.Sweeper) sweep.Report {
	t.Helper()
	r, err := s.Once(t.Context(), shell)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *world) poison(t testing.TB, user idworker.ID) (cure func()) {
	t.Helper()
	body := "BEGIN IF NEW.id = %d AND NEW.token_id IS NULL THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'poisoned'; END IF; END"
	if w.Dialect() == migrations.SQLite {
		body = "WHEN NEW.id = %d AND NEW.token_id IS NULL BEGIN SELECT RAISE(ABORT, 'poisoned'); END"
	}
	name := fmt.Sprintf("poison_%d", user)
	if _, err := w.SQL().ExecContext(t.Context(), "CREATE TRIGGER "+name+" BEFORE UPDATE ON users FOR EACH ROW "+fmt.Sprintf(body, user)); err != nil {
		t.Fatal(err)
	}
	return func() { w.exec(t, "DROP TRIGGER "+name) }
}

// A row whose UPDATE always fails keeps no other from being cleared, and is
// cleared as soon as it can be. So is one whose ID somebody else's login has
// ended with: the index of those refuses it.
func TestPoisonedRowStopsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		logins := w.crowd(t, 1500) // users have the IDs of their logins
		cure := w.poison(t, logins[77])
		twin := w.user(t, "twin")
		hash := hashOf(logins[200])
		w.exec(t, "UPDATE users SET ended_token_id = ?, ended_token_hash = ?, ended_reason = 'logged_out', token_floor = ? WHERE id = ?",
			int64(logins[200]), hash[:], int64(logins[200]), int64(twin))
		log := &testenv.Journal{}
		s := w.sweeper(t)
		s.Log = slog.New(slog.NewTextHandler(log, nil))
		for range 2 {
			r := once(t, s)
			if r.FailedRows != 2 || r.Outcome != sweep.Done {
				t.Errorf("%+v, want 2 rows to fail", r)
			}
			if left := w.number(t, "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL"); left != 2 {
				t.Errorf("%d logins are left, want the two poisoned", left)
			}
		}
		if n := log.Count("tries again"); n != 2 {
			t.Errorf("%d lines about two rows: %s", n, log)
		}
		cure()
		w.exec(t, "UPDATE users SET ended_token_id = NULL, ended_token_hash = NULL, ended_reason = NULL WHERE id = ?", int64(twin))
		if r := once(t, s); r.Cleared != 2 || r.FailedRows != 0 {
			t.Errorf("cured: %+v", r)
		}
		w.sound(t)
	})
}

// Two runners that both believe to have the lease clear each row once.
func TestRunnersAtOnceClearEachRowOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		logins := w.crowd(t, 3000)
		reports, sweepers := make([]sweep.Report, 3), make([]*sweep.Sweeper, 3)
		for i := range sweepers { // each sets the policy, and must not wait there for the passes of others
			sweepers[i] = w.sweeper(t)
			sweepers[i].Runs, sweepers[i].Audit, sweepers[i].Limits.Largest = noRuns{}, true, 100
		}
		atOnce(len(reports), func(i int) { reports[i], _ = sweepers[i].Once(t.Context(), shell) })
		sum := int64(0)
		for _, r := range reports {
			sum += r.Cleared
			if r.Outcome != sweep.Done || r.FailedRows != 0 {
				t.Errorf("%+v", r)
			}
		}
		// What one has locked, another leaves: one more pass for what nobody had.
		s := w.sweeper(t)
		s.Audit = true
		sum += once(t, s).Cleared
		if sum != int64(len(logins)) {
			t.Errorf("%d were cleared of %d", sum, len(logins))
		}
		if n := w.number(t, "SELECT COUNT(DISTINCT new_value) FROM audit_events WHERE action = 'login.expired'"); n != sum {
			t.Errorf("%d logins have an event, want %d", n, sum)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM audit_events WHERE action = 'login.expired'"); n != sum {
			t.Errorf("%d events for %d logins", n, sum)
		}
		w.sound(t)
	})
}

// noRuns gives everybody the lease.
type noRuns struct{}

func (noRuns) Take(context.Context, sweep.Report, *audit.Event, time.Duration) (sweep.Cursor, error) {
	return sweep.Cursor{}, nil
}
func (noRuns) Keep(context.Context, sweep.Report, sweep.Cursor, time.Duration) error { return nil }
func (noRuns) Finish(context.Context, sweep.Report, sweep.Cursor) error              { return nil }

// Whatever people do meanwhile, no login is cleared that lives: one that began
// or was seen above the watermarks.
func TestNothingAliveIsEverCleared(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const people, enough = 40, 40
		idle := 60 * time.Millisecond
		p := policy.Default()
		p.Idle, p.Touch = idle, idle/2
		users := make([]idworker.ID, people)
		for i := range users {
			users[i] = w.user(t, fmt.Sprintf("person%d", i))
		}
		s := w.sweeper(t)
		s.Policy, s.Runs = w.follow(t, p), noRuns{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var alive atomic.Int64 // answers
		var all sync.WaitGroup
		for _, user := range users {
			all.Go(func() {
				var last session.Session
				for ctx.Err() == nil {
					now := time.Now()
					if last.ID == 0 || rand.IntN(10) == 0 {
						o := w.opening(user)
						o.Seen = now
						begun, err := w.login(ctx, o)
						if last = begun.Session; err != nil { // it may be in the database all the same, and has ended the last one
							last = session.Session{}
						}
						continue
					}
					if rand.IntN(3) > 0 {
						_ = w.sessions.Touch(ctx, last.ID, now)
					}
					got, err := w.sessions.Get(ctx, last.ID, session.Hash{})
					if err != nil || ctx.Err() != nil {
						continue
					}
					if got.Ended == session.Idle {
						// The row says when it was last seen no more; we do.
						if since := time.Since(last.Seen); since < idle {
							t.Errorf("a login that was seen %v ago was cleared as idle", since)
						}
						last = session.Session{}
					} else if got.Alive() {
						alive.Add(1)
						last.Seen = got.Seen
					} else {
						t.Errorf("a login that nobody ended, ended as %q", got.Ended)
						last = session.Session{}
					}
					if rand.IntN(20) == 0 { // away for a while
						testenv.Eventually(t, time.Minute, func() bool { return ctx.Err() != nil || time.Since(now) > idle+20*time.Millisecond }, "time stands still")
					}
				}
			})
		}
		var cleared int64
		for ctx.Err() == nil && (cleared < enough || alive.Load() < 10*enough) {
			r, err := s.Once(ctx, shell)
			if err == nil {
				cleared += r.Cleared
			}
		}
		if ctx.Err() != nil {
			t.Errorf("%d were cleared and %d found alive, so hardly anything was tested", cleared, alive.Load())
		}
		cancel()
		all.Wait()
		w.sound(t)
	})
}

func TestDryRunCountsWhatAPassClears(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.crowd(t, 30_000)
		p := policy.Default()
		// Some expired, some below the floor, some idle, and some that live.
		p.AbsoluteBase, p.IdleBase = start.Add(9*time.Second), start.Add(25*time.Second)
		p.Absolute, p.Idle = 100*365*24*time.Hour, 100*365*24*time.Hour // longer than since start, for good
		w.exec(t, "UPDATE settings SET global_floor = ? WHERE scope = 'global'", int64(idworker.Default().Smallest(start.Add(15*time.Second))))
		s := w.sweeper(t)
		s.Policy = w.follow(t, p)
		before := w.number(t, "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL")
		want, err := s.Count(t.Context(), nil)
		if err != nil || want.Expired != 3000 || want.Revoked != 2000 || want.Idle == 0 || want.Total() >= before {
			t.Fatalf("counted %+v of %d, %v", want, before, err)
		}
		if after := w.number(t, "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL"); after != before {
			t.Errorf("a dry run has cleared %d", before-after)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM sweep_state"); n != 0 {
			t.Error("a dry run has taken the lease")
		}
		if r := once(t, s); r.Cleared != want.Total() {
			t.Errorf("cleared %d, and counted %+v", r.Cleared, want)
		}
		for reason, n := range map[string]int64{"expired": want.Expired, "revoked": want.Revoked, "idle": want.Idle} {
			if got := w.number(t, "SELECT COUNT(*) FROM users WHERE ended_reason = ?", reason); got != n {
				t.Errorf("%d ended as %s, counted %d", got, reason, n)
			}
		}
		if again, err := s.Count(t.Context(), nil); err != nil || again.Total() != 0 {
			t.Errorf("counted %+v after the pass, %v", again, err)
		}
		w.sound(t)
	})
}

// A pass that stops at its ceiling leaves its cursor, and the next goes on
// there, on whichever instance.
func TestPassesGoOnFromTheCursor(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		logins := w.crowd(t, 3000)
		total := int64(0)
		for i, want := range []sweep.Outcome{sweep.Ceiling, sweep.Ceiling, sweep.Ceiling, sweep.Done} {
			s := w.sweeper(t)
			s.Limits.Rows = 300
			r := once(t, s)
			total += r.Cleared
			if r.Outcome != want || i < 3 && r.Cleared != 300 {
				t.Errorf("pass %d: %+v, want %s", i, r, want)
			}
			cursor := w.number(t, "SELECT cursor_value FROM sweep_state")
			if want == sweep.Ceiling && cursor != int64(logins[300*(i+1)-1]) || want == sweep.Done && cursor != 0 {
				t.Errorf("after pass %d the cursor is at %d", i, cursor)
			}
		}
		if total != int64(len(logins)) {
			t.Errorf("cleared %d of %d", total, len(logins))
		}
	})
}

func TestExpiryIsOnRecordIfThatIsWanted(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		logins := w.crowd(t, 1500)
		cure := w.poison(t, logins[3])
		defer cure()
		s := w.sweeper(t)
		s.Audit = true
		once(t, s)
		events, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Action: audit.LoginExpired, Limit: 1000})
		if err != nil || len(events) != len(logins)-1 {
			t.Fatalf("%d events for %d logins, %v", len(events), len(logins)-1, err)
		}
		of := map[idworker.ID]bool{}
		for _, e := range events {
			var value struct {
				Session idworker.ID `json:"session_id"`
				Reason  string
			}
			if err := json.Unmarshal(e.New, &value); err != nil || e.Target.Kind != "user" || e.By.Via != audit.ViaSweep || value.Reason != "expired" ||
				value.Session != e.Target.ID { // in a crowd they are the same
				t.Fatalf("event %+v, value %s", e, e.New)
			}
			of[value.Session] = true
		}
		if len(of) != len(events) || of[logins[3]] {
			t.Errorf("the events are about %d logins, want one each, and none about the one that is left", len(of))
		}
		w.sound(t)
	})
}

func TestLeaseIsOnesAtATime(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		runs := &sqlstore.Sweeps{DB: w.DB}
		report := func() sweep.Report {
			return sweep.Report{ID: w.ids.next(0), Instance: "i", Started: start, Outcome: sweep.Running}
		}
		var mu sync.Mutex
		var winners []sweep.Report
		atOnce(8, func(int) {
			r := report()
			_, err := (&sqlstore.Sweeps{DB: w.DB}).Take(t.Context(), r, nil, time.Minute)
			if err == nil {
				mu.Lock()
				winners = append(winners, r)
				mu.Unlock()
			} else if !errors.Is(err, sweep.ErrRunning) {
				t.Error(err)
			}
		})
		if len(winners) != 1 {
			t.Fatalf("%d have the lease", len(winners))
		}
		first, at := winners[0], sweep.Cursor{Stage: sweep.Idle, Value: 5, Row: 6}
		if err := runs.Keep(t.Context(), first, at, time.Minute); err != nil {
			t.Error(err)
		}
		// Its holder dies: nobody waits longer than the lease, by the database's
		// clock.
		second := report()
		if _, err := runs.Take(t.Context(), second, nil, time.Minute); !errors.Is(err, sweep.ErrRunning) {
			t.Errorf("taken over while it was fresh: %v", err)
		}
		if err := runs.Keep(t.Context(), first, at, 10*time.Millisecond); err != nil {
			t.Error(err)
		}
		var from sweep.Cursor
		testenv.Eventually(t, time.Minute, func() bool {
			var err error
			from, err = runs.Take(t.Context(), second, nil, time.Minute)
			return err == nil
		}, "the lease of the dead is taken over")
		if from != at {
			t.Errorf("goes on from %+v, want %+v", from, at)
		}
		if err := runs.Keep(t.Context(), first, at, time.Minute); !errors.Is(err, sweep.ErrLost) {
			t.Errorf("Keep of who was taken over: %v", err)
		}
		if err := runs.Finish(t.Context(), first, sweep.Cursor{}); err != nil {
			t.Error(err)
		}
		if err := runs.Keep(t.Context(), second, at, time.Minute); err != nil {
			t.Errorf("the one taken over has ended the lease of the other: %v", err)
		}
		if err := runs.Finish(t.Context(), second, sweep.Cursor{}); err != nil {
			t.Error(err)
		}
		// A lease from a database whose clock was ahead does not count.
		w.exec(t, "UPDATE sweep_state SET lease_until = lease_until + 9000000000000")
		if _, err := runs.Take(t.Context(), report(), nil, time.Minute); err != nil {
			t.Errorf("a lease for centuries keeps everybody out: %v", err)
		}
	})
}

// Whoever asks for a pass is on record with it, or neither is. What a process
// that was killed has left is told from what runs.
func TestRequestedPassIsInTheHistory(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		runs := &sqlstore.Sweeps{DB: w.DB}
		take := func(lease time.Duration) (sweep.Report, audit.Event, error) {
			r := sweep.Report{ID: w.ids.next(0), Instance: "web-1:7", RequestedBy: "ada", Started: start, Outcome: sweep.Running}
			e := audit.Event{ID: w.ids.next(0), Action: audit.SweepRequested, By: audit.Actor{Name: "ada", Via: audit.ViaCLI}, Target: audit.Target{Kind: "sweep", ID: r.ID}}
			_, err := runs.Take(t.Context(), r, &e, lease)
			return r, e, err
		}
		killed, _, err := take(time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		var r sweep.Report
		testenv.Eventually(t, time.Minute, func() bool { r, _, err = take(time.Minute); return err == nil }, "the lease is taken over")
		if _, e, err := take(time.Minute); !errors.Is(err, sweep.ErrRunning) {
			t.Error(err)
		} else if n := w.number(t, "SELECT COUNT(*) FROM audit_events WHERE id = ?", int64(e.ID)); n != 0 {
			t.Error("a request that was refused is on record")
		}
		r.Cleared, r.Longest = 12, 7*time.Millisecond
		if err := runs.Keep(t.Context(), r, sweep.Cursor{}, time.Minute); err != nil {
			t.Error(err)
		}
		list, err := runs.Passes(t.Context(), 0, 10)
		if err != nil || len(list) != 2 || list[0].ID != r.ID || list[0].Cleared != 12 || list[0].Outcome != sweep.Running || !list[0].Finished.IsZero() ||
			list[1].ID != killed.ID || list[1].Outcome != sweep.Abandoned || list[1].Finished.IsZero() || list[1].RequestedBy != "ada" {
			t.Errorf("while it runs: %+v, %v", list, err)
		}
		r.Outcome, r.Finished, r.Cleared = sweep.Done, start.Add(time.Second), 20
		if err := runs.Finish(t.Context(), r, sweep.Cursor{}); err != nil {
			t.Error(err)
		}
		list, err = runs.Passes(t.Context(), 0, 1)
		if err != nil || len(list) != 1 || list[0] != r {
			t.Errorf("in the end: %+v, want %+v, %v", list, r, err)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM audit_events WHERE action = 'sweep.requested'"); n != 2 {
			t.Errorf("%d requests on record, want 2", n)
		}
	})
}

func TestHistoryIsPruned(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		runs := &sqlstore.Sweeps{DB: w.DB}
		for i := range 2000 {
			w.exec(t, "INSERT INTO sweeps (id, instance, started_at, finished_at, outcome) VALUES (?, 'i', 0, 0, 'done')", i+1)
		}
		idle := sweep.Report{ID: w.ids.next(0), Outcome: sweep.Done, Finished: start}
		if err := runs.Finish(t.Context(), idle, sweep.Cursor{}); err != nil {
			t.Fatal(err)
		}
		r := sweep.Report{ID: w.ids.next(0), Outcome: sweep.Done, Finished: start, Started: start, Cleared: 1}
		if err := runs.Finish(t.Context(), r, sweep.Cursor{}); err != nil {
			t.Fatal(err)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM sweeps"); n != 1000 {
			t.Errorf("%d passes are kept, want 1000", n)
		}
		var seen []sweep.Report
		for before := idworker.ID(0); ; {
			page, err := runs.Passes(t.Context(), before, 300)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			seen, before = append(seen, page...), page[len(page)-1].ID
		}
		if len(seen) != 1000 || seen[0].ID != r.ID || seen[999].ID != 1002 {
			t.Errorf("%d are listed, from %d to %d", len(seen), seen[0].ID, seen[len(seen)-1].ID)
		}
	})
}

// A row that somebody holds locked is left alone, and waited for by nobody.
func TestSweepWaitsForNoLock(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) { // SQLite has one writer, and no locks on rows
		logins := w.crowd(t, 300)
		tx, err := w.SQL().BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "UPDATE users SET updated_at = 1 WHERE id = ?", int64(logins[5])); err != nil {
			t.Fatal(err)
		}
		s := w.sweeper(t)
		if r := once(t, s); r.Cleared != int64(len(logins)-1) || r.FailedRows != 0 || r.Outcome != sweep.Done {
			t.Errorf("%+v, want all but the one that is locked", r)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if r := once(t, s); r.Cleared != 1 {
			t.Errorf("%+v, want the one that was locked", r)
		}
	})
}
