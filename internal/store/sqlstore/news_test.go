//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

const keep = time.Minute

func (w *world) news(t testing.TB, since time.Time) session.News {
	t.Helper()
	news, err := w.sessions.News(t.Context(), since, keep)
	if err != nil {
		t.Fatal(err)
	}
	return news
}

// find is the news of one user, if there is any.
func find(news session.News, user idworker.ID) (session.End, bool) {
	i := slices.IndexFunc(news.Ends, func(e session.End) bool { return e.UserID == user })
	if i < 0 {
		return session.End{}, false
	}
	return news.Ends[i], true
}

func TestEveryWayToEndIsNews(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			want session.Reason
			end  func(s session.Session) error
		}{
			{session.LoggedOut, func(s session.Session) error { _, err := w.sessions.End(t.Context(), logout(s)); return err }},
			{session.Revoked, func(s session.Session) error {
				_, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: s.UserID, Reason: session.Revoked}, 0)
				return err
			}},
			{session.Replaced, func(s session.Session) error {
				_, err := w.login(t.Context(), w.opening(s.UserID))
				return err
			}},
			{session.PasswordChanged, func(s session.Session) error {
				_, err := w.newPassword(t.Context(), s.UserID, 1, "$")
				return err
			}},
			{session.Disabled, func(s session.Session) error { _, err := w.users.Disable(t.Context(), s.UserID, start); return err }},
		} {
			before := w.news(t, time.Time{}).Now
			s := w.begin(t, w.user(t, string(c.want)))
			if got, ok := find(w.news(t, time.Time{}), s.UserID); ok {
				t.Errorf("%s: a login is news: %+v", c.want, got)
			}
			if err := c.end(s); err != nil {
				t.Fatal(err)
			}
			news := w.news(t, before)
			got, ok := find(news, s.UserID)
			if !ok || got.Floor != s.ID || got.Reason != c.want {
				t.Errorf("%s: news %+v, want the end of %v", c.want, got, s.ID)
			}
			if got.At.Before(before) || got.At.After(news.Now.Add(time.Second)) {
				t.Errorf("%s: stamped at %v, between polls at %v and %v", c.want, got.At, before, news.Now)
			}
			if after := w.news(t, got.At.Add(time.Millisecond)); len(after.Ends) != 0 {
				t.Errorf("%s: still news after its stamp: %+v", c.want, after.Ends)
			}
		}
	})
}

// A zero since asks for what ended within keep, by the database's clock.
func TestFirstNewsReachesBackAsFarAsAsked(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		now := w.news(t, time.Time{}).Now
		for name, ago := range map[string]time.Duration{"lately": keep - 10*time.Second, "longago": keep + 10*time.Second} {
			s := w.begin(t, w.user(t, name))
			if _, err := w.sessions.End(t.Context(), logout(s)); err != nil {
				t.Fatal(err)
			}
			if err := w.Gorm().Exec("UPDATE users SET token_floor_at = ? WHERE id = ?", now.Add(-ago).UnixMilli(), int64(s.UserID)).Error; err != nil {
				t.Fatal(err)
			}
			if _, ok := find(w.news(t, time.Time{}), s.UserID); ok != (ago < keep) {
				t.Errorf("ended %v ago: news %v", ago, ok)
			}
		}
	})
}

// What a change stamps may become visible much later. Its author notices, and
// stamps anew before anybody is told that it is done.
func TestSlowEndIsStampedAnewBeforeItIsAcknowledged(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, slow := range []bool{true, false} {
			w.SetLate(time.Hour)
			if slow {
				w.SetLate(0)
			}
			for name, end := range map[string]func(session.Session) error{
				"Begin": func(s session.Session) error {
					_, err := w.login(t.Context(), w.opening(s.UserID))
					return err
				},
				"End": func(s session.Session) error { _, err := w.sessions.End(t.Context(), logout(s)); return err },
				"End with a record": func(s session.Session) error {
					e := logout(s)
					e.Reason, e.Record = session.Revoked, w.byShell()
					_, err := w.sessions.End(t.Context(), e)
					return err
				},
				"ChangePassword": func(s session.Session) error {
					_, err := w.newPassword(t.Context(), s.UserID, 1, "$")
					return err
				},
				"Disable": func(s session.Session) error { _, err := w.users.Disable(t.Context(), s.UserID, start); return err },
			} {
				s := w.begin(t, w.user(t, fmt.Sprint(name, slow)))
				undo := w.afterFirstEnd(t, func(db *gorm.DB) { // as if it had been stamped long ago
					again := db.Session(&gorm.Session{NewDB: true})
					if err := again.Exec("UPDATE users SET token_floor_at = 1 WHERE id = ?", int64(s.UserID)).Error; err != nil {
						t.Error(err)
					}
				})
				if err := end(s); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				undo()
				if _, ok := find(w.news(t, time.Time{}), s.UserID); ok != slow {
					t.Errorf("%s, slow %v: news %v, want it if it was slow", name, slow, ok)
				}
			}
		}
	})
}

// A logout that is asked for again, after its first answer was lost, is stamped
// anew: nobody knows when the first became visible.
func TestRepeatedLogoutIsStampedAnew(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.begin(t, w.user(t, "ada"))
		if _, err := w.sessions.End(t.Context(), logout(s)); err != nil {
			t.Fatal(err)
		}
		if err := w.Gorm().Exec("UPDATE users SET token_floor_at = 1 WHERE id = ?", int64(s.UserID)).Error; err != nil {
			t.Fatal(err)
		}
		if again, err := w.sessions.End(t.Context(), logout(s)); err != nil || again.Ended != session.LoggedOut {
			t.Fatalf("End: %+v, %v", again, err)
		}
		if end, ok := find(w.news(t, time.Time{}), s.UserID); !ok || end.Floor != s.ID {
			t.Errorf("news %+v, want the end of %v", end, s.ID)
		}
	})
}

func TestGlobalFloorEndsEveryLoginThereIs(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ahead := w.user(t, "ahead")
		future := w.beginAt(t, ahead, time.Now().Add(time.Hour), start) // by a clock that was wrong
		old := w.begin(t, w.user(t, "ada"))
		floor, err := w.settings().EndAll(t.Context(), time.Now())
		if err != nil || floor < future.ID || floor < old.ID {
			t.Fatalf("EndAll: floor %v, %v; want at least %v", floor, err, future.ID)
		}
		for _, s := range []session.Session{future, old} {
			if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || got.Ended != session.Revoked {
				t.Errorf("Get of %v: ended %q, %v; want revoked", s.ID, got.Ended, err)
			}
		}
		if news := w.news(t, time.Time{}); news.Global != floor {
			t.Errorf("news of floor %v, want %v", news.Global, floor)
		}
		// Whoever logs in now is above it, whatever the clock of the worker.
		fresh := w.begin(t, ahead)
		if got, err := w.sessions.Get(t.Context(), fresh.ID, session.Hash{}); err != nil || !got.Alive() || fresh.ID <= floor {
			t.Errorf("a new login: %v, ended %q, %v; want it alive and above %v", fresh.ID, got.Ended, err, floor)
		}
		if again, err := w.settings().EndAll(t.Context(), time.UnixMilli(0)); err != nil || again < fresh.ID {
			t.Errorf("EndAll again: %v, %v; want no less than %v", again, err, fresh.ID)
		}
	})
}

func TestSweepClearsWhatIsBelowTheGlobalFloor(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		old := w.begin(t, w.user(t, "ada"))
		if _, err := w.settings().EndAll(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		fresh := w.begin(t, w.user(t, "bob"))
		n, err := w.sweep(t.Context(), time.UnixMilli(0), time.UnixMilli(0), 10)
		if err != nil || n != 1 {
			t.Fatalf("Sweep: %d, %v; want 1", n, err)
		}
		for _, c := range []struct {
			id   idworker.ID
			want session.Reason
		}{{old.ID, session.Revoked}, {fresh.ID, ""}} {
			if got, err := w.sessions.Get(t.Context(), c.id, session.Hash{}); err != nil || got.Ended != c.want {
				t.Errorf("Get of %v: ended %q, %v; want %q", c.id, got.Ended, err, c.want)
			}
		}
	})
}

func TestNewsOfAnotherSchemaIsAnError(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		if err := w.Gorm().Exec("DELETE FROM settings").Error; err != nil {
			t.Fatal(err)
		}
		if _, err := w.sessions.News(t.Context(), time.Time{}, keep); err == nil {
			t.Error("no settings, and no error")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.sessions.News(ctx, time.Time{}, keep); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func (w *world) settings() *sqlstore.Settings { return &sqlstore.Settings{DB: w.DB} }

// afterFirstEnd calls f once, on the connection and in the transaction of the
// first statement that stamps an end.
func (w *world) afterFirstEnd(t *testing.T, f func(*gorm.DB)) (undo func()) {
	t.Helper()
	done := false
	raw := w.Gorm().Callback().Raw()
	err := raw.After("gorm:raw").Register("after first end", func(db *gorm.DB) {
		if !done && strings.Contains(db.Statement.SQL.String(), "token_floor_at = ") {
			done = true
			f(db)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if !done {
			t.Error("no statement stamped an end")
		}
		if err := raw.Remove("after first end"); err != nil {
			t.Error(err)
		}
	}
}
