//go:build unix

package sqlstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// The end of before may have been committed when all feeds had passed its stamp.
// Whoever is told now that no login of before lives is told so about every
// instance.
func TestActThatEndsNothingStampsTheLastEndAnew(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.SetLate(time.Hour) // nothing here is late
		for name, act := range map[string]func(user idworker.ID) error{
			"a login": func(user idworker.ID) error {
				_, err := w.login(t.Context(), w.opening(user))
				return err
			},
			"another password": func(user idworker.ID) error {
				_, err := w.newPassword(t.Context(), user, 1, "$")
				return err
			},
			"a disabled account": func(user idworker.ID) error {
				_, err := w.users.Disable(t.Context(), user, start)
				return err
			},
			"the end of whatever lives": func(user idworker.ID) error {
				_, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: user, Reason: session.Revoked}, 0)
				if errors.Is(err, session.ErrNotFound) {
					err = nil
				}
				return err
			},
			"a logout": func(user idworker.ID) error {
				id := idworker.ID(w.row(t, user).Ended.Int64)
				_, err := w.sessions.End(t.Context(), session.Ending{ID: id, Hash: hashOf(id), Reason: session.LoggedOut})
				return err
			},
		} {
			s := w.begin(t, w.user(t, name))
			_, err := w.sessions.End(t.Context(), logout(s))
			must(t, err)
			w.exec(t, "UPDATE users SET token_floor_at = 1 WHERE id = ?", int64(s.UserID))
			must(t, act(s.UserID))
			if end, ok := find(w.news(t, time.Time{}), s.UserID); !ok || end.Floor != s.ID {
				t.Errorf("after %s the feeds read %+v; want the end of %v", name, end, s.ID)
			}
		}
	})
}

// Such an act is stamped anew like any other if it was slow.
func TestSlowActThatEndsNothingIsStampedAnew(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.SetLate(0)
		for name, act := range map[string]func(user idworker.ID) error{
			"a login": func(user idworker.ID) error {
				_, err := w.login(t.Context(), w.opening(user))
				return err
			},
			"another password": func(user idworker.ID) error {
				_, err := w.newPassword(t.Context(), user, 1, "$")
				return err
			},
		} {
			s := w.begin(t, w.user(t, name))
			_, err := w.sessions.End(t.Context(), logout(s))
			must(t, err)
			undo := w.afterFirstEnd(t, func(db *gorm.DB) { // as if it had been stamped long ago
				again := db.Session(&gorm.Session{NewDB: true})
				if err := again.Exec("UPDATE users SET token_floor_at = 1 WHERE id = ?", int64(s.UserID)).Error; err != nil {
					t.Error(err)
				}
			})
			must(t, act(s.UserID))
			undo()
			if end, ok := find(w.news(t, time.Time{}), s.UserID); !ok || end.Floor != s.ID {
				t.Errorf("after %s that took long the feeds read %+v; want the end of %v", name, end, s.ID)
			}
		}
	})
}

// During a change of the policy a poll proves nothing: the next policy may be
// longer than the one that is read.
func TestNewsDuringAChangeOfThePolicyIsNotSteady(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		before := w.news(t, time.Time{})
		change := w.transaction(t)
		run(t, change, "UPDATE settings SET version = version + 1 WHERE scope = 'global'")
		during := w.news(t, time.Time{})
		must(t, change.Commit())
		after := w.news(t, time.Time{})
		if !before.Steady || during.Steady || !after.Steady {
			t.Errorf("steady before a change %v, during it %v, after it %v", before.Steady, during.Steady, after.Steady)
		}
		if v := before.Policy.Version; during.Policy.Version != v || after.Policy.Version != v+1 {
			t.Errorf("policies %d, %d and %d", v, during.Policy.Version, after.Policy.Version)
		}
	})
}

// A change that waits for another raises its bases to the watermarks of when it
// is made. Those of when it was asked for may lie below what a poll has proven.
func TestBasesAreOfTheTimeOfTheChange(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) { // in a file the wait comes before all else
		old, err := w.settings().LoadPolicy(t.Context())
		must(t, err)
		other := w.transaction(t)
		run(t, other, "SELECT version FROM settings WHERE scope = 'global' FOR UPDATE")
		changed := make(chan policy.Policy, 1)
		go func() {
			p, err := w.settings().SetPolicy(t.Context(), old.Version, old, audit.Event{ID: w.ids.next(0), By: shell, Action: audit.PolicyChanged})
			if err != nil {
				t.Error(err)
			}
			changed <- p
		}()
		testenv.Eventually(t, time.Minute, func() bool { return w.someoneWaits(t) }, "the change to wait for the other one")
		proven := number64(t, w.SQL(), "SELECT "+w.Now())
		w.ticks(t, proven)
		must(t, other.Commit())
		p := <-changed
		if was := old.For("", "").OldestIssued(time.UnixMilli(proven)); !p.AbsoluteBase.After(was) {
			t.Errorf("the base is %v before a watermark that a poll could prove during the wait", was.Sub(p.AbsoluteBase))
		}
		if was := old.For("", "").OldestSeen(time.UnixMilli(proven)); !p.IdleBase.After(was) {
			t.Errorf("the idle base is %v before the watermark of the wait", was.Sub(p.IdleBase))
		}
	})
}

// What a shorter policy of before would have ended is not cleared by a pass that
// began under it.
func TestSweepClearsNothingThatThePolicyInForceLetsLive(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		now := time.Now()
		s := w.beginAt(t, w.user(t, "ada"), now.Add(-2*time.Hour), now.Add(-2*time.Hour))
		for _, of := range []struct{ issued, seen time.Time }{
			{now.Add(-time.Hour), time.UnixMilli(0)}, {time.UnixMilli(0), now.Add(-time.Hour)},
		} {
			if n, err := w.clear(t.Context(), of.issued, of.seen, 10); err != nil || n != 0 {
				t.Errorf("cleared %d logins, %v; want none", n, err)
			}
		}
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || !got.Alive() {
			t.Errorf("the login has ended: %q, %v", got.Ended, err)
		}
	})
}

// A primary of before does not know what has happened since, and not even that
// somebody is nobody.
func TestReadOnlyServerDecidesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.begin(t, w.user(t, "ada"))
		w.SetReadOnly("1")
		for name, ask := range map[string]func() error{
			"a login":    func() error { _, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); return err },
			"no login":   func() error { _, err := w.sessions.Get(t.Context(), s.ID+1, session.Hash{}); return err },
			"a decision": func() error { _, err := w.sessions.Settle(t.Context(), s.ID, time.Time{}); return err },
			"a logout":   func() error { _, err := w.sessions.End(t.Context(), logout(s)); return err },
			"a poll":     func() error { _, err := w.sessions.News(t.Context(), time.Time{}, keep); return err },
			"a use": func() error {
				_, err := w.sessions.TouchAll(t.Context(), map[idworker.ID]time.Time{s.ID: time.Now()}, time.Second)
				return err
			},
		} {
			if err := ask(); err == nil || errors.Is(err, session.ErrNotFound) || !strings.Contains(err.Error(), "takes no writes") {
				t.Errorf("%s: %v; want that the server cannot decide", name, err)
			}
		}
		w.SetReadOnly("0")
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || !got.Alive() {
			t.Errorf("again by a server that takes writes: %q, %v", got.Ended, err)
		}
	})
}

// After a switchover the old server may stay up for long. What was connected to it
// is left, so that the next questions go where new connections lead.
func TestConnectionsOfADemotedServerAreLeft(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.begin(t, w.user(t, "ada"))
		for name, ask := range map[string]func() error{
			"a login": func() error { _, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); return err },
			"a poll":  func() error { _, err := w.sessions.News(t.Context(), time.Time{}, keep); return err },
		} {
			db := open(t, w.options) // at most once a second for each
			w.sessions = &sqlstore.Sessions{DB: db}
			db.SetReadOnly("1")
			if err := ask(); err == nil {
				t.Fatalf("%s: no error", name)
			}
			if n := db.SQL().Stats().OpenConnections; n != 0 {
				t.Errorf("%s: %d connections are kept", name, n)
			}
		}
	})
}

// someoneWaits reports whether anybody waits for a lock in this database.
func (w *world) someoneWaits(t *testing.T) bool {
	t.Helper()
	return w.Dialect() == migrations.SQLite || w.waiting(t) > 0 // of SQLite nobody can say
}

// waiting is how many wait for a lock in this database of a server.
func (w *world) waiting(t *testing.T) (n int64) {
	t.Helper()
	if !w.mariaDB() {
		return number64(t, w.SQL(), "SELECT COUNT(DISTINCT w.requesting_thread_id) FROM performance_schema.data_lock_waits w "+
			"JOIN performance_schema.data_locks l ON l.engine_lock_id = w.requesting_engine_lock_id WHERE l.object_schema = DATABASE()")
	}
	var name, kind, empty, status string
	must(t, w.SQL().QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&name))
	must(t, w.SQL().QueryRowContext(t.Context(), "SHOW ENGINE INNODB STATUS").Scan(&kind, &empty, &status))
	for line := range strings.Lines(status) {
		if strings.Contains(line, "of table `"+name+"`.") && strings.Contains(line, " waiting") {
			n++
		}
	}
	return n
}
