//go:build unix

package sqlstore_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

func TestSweepIsExactToTheMillisecond(t *testing.T) {
	const ms = time.Millisecond
	onEach(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name         string
			issued, seen time.Duration // of the login, after start
			mark, idle   time.Duration // of the sweep, after start
			want         session.Reason
		}{
			{"issued at the watermark", 0, 0, 0, -ms, session.Expired},
			{"issued a ms later", ms, ms, 0, -ms, ""},
			{"the watermark is within the ms before", ms, ms, ms - 1, -ms, ""},
			{"the watermark is within the ms", ms, ms, ms + 1, -ms, session.Expired},
			{"seen at the watermark", 0, 7 * ms, -ms, 7 * ms, session.Idle},
			{"seen a ms later", 0, 8 * ms, -ms, 7 * ms, ""},
			{"seen within the ms", 0, 8 * ms, -ms, 8*ms - 1, ""},
			{"both", 0, 0, 0, 0, session.Expired},
		} {
			user := w.user(t, c.name)
			w.serial = -1 // the first ID of the millisecond
			if c.want != "" {
				w.serial = 1<<22 - 2 // the last one
			}
			s := w.beginAt(t, user, start.Add(c.issued), start.Add(c.seen))
			before := w.row(t, user)
			n, err := w.sweep(t.Context(), start.Add(c.mark), start.Add(c.idle), 10)
			got, getErr := w.sessions.Get(t.Context(), s.ID, session.Hash{})
			if err != nil || getErr != nil || got.Ended != c.want || (n == 1) != (c.want != "") {
				t.Errorf("%s: %d swept, ended as %q, %v, %v; want %q", c.name, n, got.Ended, err, getErr, c.want)
			}
			r := w.row(t, user)
			if c.want != "" && (r.Floor != int64(s.ID) || r.FloorAt != before.FloorAt || string(r.EndedHash) != string(s.Hash[:])) {
				t.Errorf("%s: %+v", c.name, r)
			}
			if c.want == "" {
				if diff := cmp.Diff(r, before); diff != "" {
					t.Errorf("%s: the row changed\n%s", c.name, diff)
				}
			}
			w.exec(t, "DELETE FROM users")
		}
	})
}

func TestSweepBeforeTheFirstIDFindsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.begin(t, w.user(t, "ada"))
		for _, at := range []time.Time{{}, longAgo} {
			if n, err := w.sweep(t.Context(), at, at, 10); n != 0 || err != nil {
				t.Errorf("swept %d, %v", n, err)
			}
		}
		w.sound(t)
	})
}

func TestSweepKeepsToItsLimit(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		logins := w.crowd(t, 75) // 25 logins
		spy := w.spy(t)
		for _, want := range []int{10, 10, 5, 0} {
			n, err := w.sweep(t.Context(), start.Add(time.Hour), start.Add(time.Hour), 10)
			if n != want || err != nil {
				t.Errorf("swept %d, %v; want %d", n, err, want)
			}
			if n := spy.written("UPDATE"); n != int64(want) {
				t.Errorf("wrote %d rows, want %d", n, want)
			}
		}
		if n := w.number(t, "SELECT COUNT(*) FROM users WHERE ended_reason = 'expired'"); n != int64(len(logins)) {
			t.Errorf("%d logins expired, want %d", n, len(logins))
		}
		w.sound(t)
	})
}

// Sweepers at once clear each row once, and none stops while rows are left.
func TestSweepVsSweep(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		logins := w.crowd(t, 1500)
		stop := w.watch(t)
		var cleared atomic.Int64
		w.endedBefore(t, start.Add(time.Hour), longAgo)
		atOnce(4, func(i int) {
			for n := 100; n == 100; {
				var err error
				if n, err = w.clear(t.Context(), start.Add(time.Hour), longAgo, 100); err != nil {
					t.Errorf("%d: %v", i, err)
				}
				cleared.Add(int64(n))
			}
			if left := w.number(t, "SELECT COUNT(*) FROM users WHERE token_id IS NOT NULL"); left > 300 {
				t.Errorf("sweeper %d stopped with %d left", i, left)
			}
		})
		stop()
		if n := cleared.Load(); n != int64(len(logins)) {
			t.Errorf("%d were cleared of %d", n, len(logins))
		}
		w.sound(t)
	})
}

// What is used before the policy ends it stays, and what is used while the sweep is under way is
// used or swept: the sweep writes a row only if it is still idle then. Either skips rows that the
// other one holds; the next pass finds them.
func TestSweepVsTouch(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.endedBefore(t, longAgo, longAgo) // of the default times, all would be idle one day
		logins := w.crowd(t, 600)
		idle := start.Add(time.Hour)
		used := idle.Add(time.Minute)
		touch := func(some []idworker.ID) error {
			seen := make(map[idworker.ID]time.Time, len(some))
			for _, id := range some {
				seen[id] = used
			}
			_, err := w.sessions.TouchAll(t.Context(), seen, time.Minute)
			return err
		}
		early, late := logins[:len(logins)/2], logins[len(logins)/2:]
		if err := touch(early); err != nil {
			t.Fatal(err)
		}
		atOnce(2, func(i int) {
			if i == 0 {
				for some := range slices.Chunk(late, 5) {
					if err := touch(some); err != nil {
						t.Error(err)
					}
				}
				return
			}
			err := w.endBefore(t.Context(), longAgo, idle)
			for n := 20; n == 20 && err == nil; {
				n, err = w.clear(t.Context(), longAgo, idle, 20)
			}
			if err != nil {
				t.Error(err)
			}
		})
		if _, err := w.clear(t.Context(), longAgo, idle, len(logins)); err != nil {
			t.Fatal(err)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM users WHERE token_seen_at <= ?", idle.UnixMilli()); n != 0 {
			t.Errorf("%d idle logins are left", n)
		}
		kept, swept := w.number(t, "SELECT COUNT(*) FROM users WHERE token_seen_at = ?", used.UnixMilli()), w.number(t, "SELECT COUNT(*) FROM users WHERE ended_reason = 'idle'")
		if kept < int64(len(early)) || kept+swept != int64(len(logins)) {
			t.Errorf("%d logins were used, and %d of others swept; want all %d, and at least %d used", kept, swept, len(logins), len(early))
		}
		w.sound(t)
	})
}

// The condition is checked as the row is written: here the touch, or the new
// login, is committed between the sweep's look and its write.
func TestSweepLooksAgainAsItWrites(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.endedBefore(t, longAgo, longAgo) // of the default times, all would be idle one day
		touched, renewed := w.user(t, "touched"), w.user(t, "renewed")
		s := w.beginAt(t, touched, start, start)
		w.beginAt(t, renewed, start, start)
		store := &sqlstore.Sweeps{DB: w.DB}
		marks := sweep.MarksOf(longAgo, start.Add(time.Minute), 0)
		stale, _, err := store.Stale(t.Context(), marks, sweep.Cursor{Stage: sweep.Idle}, 10)
		if err != nil || len(stale) != 2 {
			t.Fatalf("stale: %v, %v; want both", stale, err)
		}
		if err := w.sessions.Touch(t.Context(), s.ID, start.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		newer := w.begin(t, renewed)
		if n, err := store.Clear(t.Context(), marks, sweep.Idle, stale, nil); n != 0 || err != nil {
			t.Errorf("cleared %d, %v; want 0", n, err)
		}
		for _, id := range []idworker.ID{s.ID, newer.ID} {
			if got, err := w.sessions.Get(t.Context(), id, session.Hash{}); err != nil || !got.Alive() {
				t.Errorf("%d ended as %q, %v", id, got.Ended, err)
			}
		}
	})
}

func TestSweepVsLogin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for round := range 10 {
			user := w.user(t, "ada"+string(rune('a'+round)))
			w.beginAt(t, user, start, start)
			var begun session.Begun
			w.endedBefore(t, start.Add(time.Millisecond), start.Add(time.Millisecond))
			atOnce(4, func(i int) {
				var err error
				if i == 0 {
					begun, err = w.login(t.Context(), w.opening(user))
				} else {
					_, err = w.clear(t.Context(), start.Add(time.Millisecond), start.Add(time.Millisecond), 10)
				}
				if err != nil {
					t.Errorf("%d: %v", i, err)
				}
			})
			if got, err := w.sessions.Get(t.Context(), begun.Session.ID, session.Hash{}); err != nil || !got.Alive() {
				t.Fatalf("the sweep of the old ended the new: %q, %v", got.Ended, err)
			}
		}
		w.sound(t)
	})
}

func TestSweepOfTwentyThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	onEach(t, func(t *testing.T, w *world) {
		logins := w.crowd(t, 20_000)
		begin := time.Now()
		total := 0
		for n := 1000; n == 1000; total += n {
			var err error
			if n, err = w.sweep(t.Context(), start.Add(time.Hour), longAgo, 1000); err != nil {
				t.Fatal(err)
			}
		}
		if total != len(logins) {
			t.Errorf("swept %d of %d", total, len(logins))
		}
		t.Logf("%d logins of %d users in %v", total, 20_000, time.Since(begin))
		w.sound(t)
	})
}
