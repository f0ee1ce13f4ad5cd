package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestLostEndsAreWrittenAgain: of what is known to have ended, the rows that have lost it
// get it again, with one event. A login that began later lives.
func TestLostEndsAreWrittenAgain(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		lost, kept, later := w.begin(t, w.user(t, "lost")), w.begin(t, w.user(t, "kept")), w.user(t, "later")
		first := w.begin(t, later)
		var known []session.End
		for _, s := range []session.Session{kept, first} {
			_, err := w.sessions.End(t.Context(), logout(s))
			must(t, err)
		}
		next := w.begin(t, later)
		w.run(t, "UPDATE users SET token_floor = 0 WHERE id = ?", int64(later))
		for _, s := range []session.Session{lost, kept, first} {
			known = append(known, session.End{UserID: s.UserID, Floor: s.ID, Reason: session.LoggedOut})
		}
		before := w.row(t, kept.UserID)
		event := func() audit.Event {
			return audit.Event{
				ID: w.ids.next(0), By: audit.Actor{Name: "flakepass", Via: audit.ViaServer}, Need: audit.NeedsNothing,
				Action: audit.CommitsLost, Target: audit.Target{Kind: "database"},
			}
		}
		for round, want := range []session.Lost{{Ends: 2}, {}} {
			if got, err := w.sessions.EndAgain(t.Context(), known, 0, event()); err != nil || got != want {
				t.Errorf("round %d: %+v, %v; want %+v", round, got, err, want)
			}
		}
		for name, c := range map[string]struct {
			s     session.Session
			ended session.Reason
		}{"lost": {lost, session.LoggedOut}, "kept": {kept, session.LoggedOut}, "begun later": {next, ""}} {
			if got, err := w.sessions.Get(t.Context(), c.s.ID, session.Hash{}); err != nil || got.Ended != c.ended {
				t.Errorf("%s: ended %q, %v; want %q", name, got.Ended, err, c.ended)
			}
		}
		if end, ok := find(w.news(t, time.Time{}), lost.UserID); !ok || end.Floor != lost.ID {
			t.Errorf("the feed does not carry the end: %+v, %v", end, ok)
		}
		if after := w.row(t, kept.UserID); !cmp.Equal(after, before) {
			t.Errorf("a row that had its end was changed: %+v, %+v", before, after)
		}
		if got := w.events(t); len(got) != 1 || !slices.Contains(got, audit.CommitsLost) {
			t.Errorf("the record has %v", got)
		}
		if got, err := w.sessions.EndAgain(t.Context(), nil, next.ID, event()); err != nil || got != (session.Lost{All: true}) {
			t.Errorf("the end of all: %+v, %v", got, err)
		}
		if got, err := w.sessions.Get(t.Context(), next.ID, session.Hash{}); err != nil || got.Alive() {
			t.Errorf("after the end of all: %+v, %v", got, err)
		}
	})
}

// TestRepairIsOnRecordWhereverItFails: the database fails, and the repair is tried again, as
// session.Repair does. The event is the signal to look at what else is lost.
func TestRepairIsOnRecordWhereverItFails(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		down, failing, after := errors.New("connection refused"), "", 0
		must(t, w.Gorm().Callback().Raw().Before("gorm:raw").Register("fail", func(db *gorm.DB) {
			if sent := db.Statement.SQL.String(); failing == "" || !strings.HasPrefix(sent, failing) {
				return
			}
			if after--; after < 0 {
				failing = ""
				_ = db.AddError(down)
			}
		}))
		for at, c := range []struct {
			fails        string
			after, ended int // statements of that kind, and ends in the first try
		}{
			{"INSERT INTO audit_events", 0, 0},
			{"UPDATE users SET token_floor = ", 0, 0},
			{"UPDATE users SET token_floor = ", 2, 1},
		} {
			known := make([]session.End, 2)
			for i := range known {
				lost := w.begin(t, w.user(t, fmt.Sprint("lost", at, i)))
				known[i] = session.End{UserID: lost.UserID, Floor: lost.ID, Reason: session.LoggedOut}
			}
			event := func() audit.Event {
				return audit.Event{
					ID: w.ids.next(0), By: audit.Actor{Name: "flakepass", Via: audit.ViaServer}, Need: audit.NeedsNothing,
					Action: audit.CommitsLost, Target: audit.Target{Kind: "database"},
				}
			}
			before := w.recorded(t, audit.CommitsLost)
			failing, after = c.fails, c.after
			got, err := w.sessions.EndAgain(t.Context(), known, 0, event())
			if !errors.Is(err, down) || got.Ends != c.ended {
				t.Errorf("%s fails: %+v, %v", c.fails, got, err)
			}
			if said := w.recorded(t, audit.CommitsLost) > before; said != (c.ended > 0) {
				t.Errorf("%s fails: %d ended, on record %v", c.fails, got.Ends, said)
			}
			if again, err := w.sessions.EndAgain(t.Context(), known, 0, event()); err != nil || got.Ends+again.Ends != len(known) {
				t.Errorf("%s failed: %+v and then %+v, %v", c.fails, got, again, err)
			}
			if w.recorded(t, audit.CommitsLost) == before {
				t.Errorf("%s failed: nobody learns that the database has lost commits", c.fails)
			}
		}
	})
}

// TestPollNoticesLostCommits: the change of an earlier poll is missing, or is there as an
// even earlier one has left it. An instance that starts, or whose row others have removed
// because it was silent, has lost nothing.
func TestPollNoticesLostCommits(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		poll := func(what string, want bool) {
			t.Helper()
			if news := w.news(t, time.Time{}); news.Lost != want {
				t.Errorf("%s: lost %v", what, news.Lost)
			}
		}
		w.sessions = &sqlstore.Sessions{DB: w.DB, Instance: "one"}
		poll("the first poll", false)
		poll("the second poll", false)
		w.run(t, "UPDATE polls SET polled_at = polled_at - 1")
		poll("an earlier copy", true)
		poll("the poll after", false)
		w.run(t, "DELETE FROM polls")
		poll("an empty copy", true)
		poll("the poll after", false)
		// A server whose clock was ahead was replaced, or set right: so is the time.
		w.run(t, "UPDATE polls SET polled_at = polled_at + ?", time.Hour.Milliseconds())
		if news := w.news(t, time.Time{}); news.Lost || time.Until(news.Now) > time.Minute {
			t.Errorf("after a clock that was an hour ahead: %v ahead, lost %v", time.Until(news.Now), news.Lost)
		}
		w.run(t, "UPDATE polls SET polled_at = polled_at - 1")
		w.sessions.SetPolled(time.Now().Add(-time.Minute))
		poll("an earlier copy after a long outage", true)
		w.run(t, "DELETE FROM polls")
		w.sessions.SetPolled(time.Now().Add(-time.Minute))
		poll("a silent instance", false)
	})
}
