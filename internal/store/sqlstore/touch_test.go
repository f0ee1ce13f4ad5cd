//go:build unix

package sqlstore_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

var longAgo = time.UnixMilli(0)

func TestTouchMovesOnlyForwardAndByTheGap(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.beginAt(t, user, start, start)
		at := func(d time.Duration) time.Time { return start.Add(d) }
		for _, c := range []struct {
			touch, want time.Time
			idle        time.Time
		}{
			{at(-time.Hour), start, longAgo},
			{at(0), start, longAgo},
			{at(time.Minute - time.Millisecond), start, longAgo},
			{at(time.Minute), at(time.Minute), longAgo},
			{at(2*time.Minute - time.Millisecond), at(time.Minute), longAgo},
			{at(time.Hour), at(time.Minute), at(time.Minute)}, // idle since just now: over
			{at(time.Hour), at(time.Minute), at(2 * time.Minute)},
			{at(time.Hour), at(time.Hour), at(time.Minute - time.Millisecond)}, // idle a millisecond later
			{at(time.Minute), at(time.Hour), longAgo},
		} {
			w.endedBefore(t, longAgo, c.idle)
			rows, err := w.sessions.TouchAll(t.Context(), map[idworker.ID]time.Time{s.ID: c.touch}, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.row(t, user).Seen.Int64; got != c.want.UnixMilli() {
				t.Errorf("touched at %v, with %v idle: seen at %v, want %v", c.touch, c.idle, time.UnixMilli(got).UTC(), c.want)
			}
			want := c.want // what the row says; nothing of a session that is over
			if !want.After(c.idle) {
				want = time.Time{}
			}
			if got, ok := rows[s.ID]; !ok || !got.Equal(want) {
				t.Errorf("touched at %v, with %v idle: told %v, want %v", c.touch, c.idle, got, want)
			}
		}
	})
}

func TestTouchOfManyGivesEachItsOwnTime(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.endedBefore(t, longAgo, longAgo)
		logins := w.crowd(t, 900) // a third of them
		seen := map[idworker.ID]time.Time{}
		for i, id := range logins {
			seen[id] = start.Add(time.Hour + time.Duration(i)*time.Second)
		}
		ended := logins[0] - 1<<22 // the user before is logged out
		seen[ended] = start.Add(time.Hour)
		seen[12345] = start.Add(time.Hour) // nobody
		spy := w.spy(t)
		if _, err := w.sessions.TouchAll(t.Context(), seen, time.Minute); err != nil {
			t.Fatal(err)
		}
		if n := spy.written("UPDATE"); n != int64(len(logins)) {
			t.Errorf("%d rows were written, want %d", n, len(logins))
		}
		for _, id := range logins {
			if got := w.row(t, id).Seen.Int64; got != seen[id].UnixMilli() {
				t.Fatalf("%d was seen at %d, want %d", id, got, seen[id].UnixMilli())
			}
		}
		if _, err := w.sessions.TouchAll(t.Context(), nil, time.Minute); err != nil {
			t.Errorf("touch of none: %v", err)
		}
		w.sound(t)
	})
}

// Five instances that all saw the same logins write each row once.
func TestOneWriteForEachGap(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.endedBefore(t, longAgo, longAgo)
		logins := w.crowd(t, 300)
		spy := w.spy(t)
		atOnce(5, func(i int) {
			seen := map[idworker.ID]time.Time{}
			for _, id := range logins {
				seen[id] = start.Add(time.Hour + time.Duration(rand.IntN(1000))*time.Millisecond)
			}
			if _, err := w.sessions.TouchAll(t.Context(), seen, time.Minute); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
		if n := spy.written("UPDATE"); n != int64(len(logins)) {
			t.Errorf("%d rows were written for %d logins", n, len(logins))
		}
	})
}

func TestTouchAfterLogout(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		for range 10 {
			s := w.begin(t, user)
			atOnce(4, func(i int) {
				var err error
				if i == 0 {
					_, err = w.sessions.End(t.Context(), logout(s))
				} else {
					err = w.sessions.Touch(t.Context(), s.ID, s.Seen.Add(time.Hour+time.Duration(i)*time.Second))
				}
				if err != nil {
					t.Errorf("%d: %v", i, err)
				}
			})
			before := w.row(t, user)
			if err := w.sessions.Touch(t.Context(), s.ID, s.Seen.Add(24*time.Hour)); err != nil {
				t.Errorf("touch after logout: %v", err)
			}
			if r := w.row(t, user); r.Token.Valid || r.Seen.Valid || r.Floor != before.Floor {
				t.Fatalf("touched after logout: %+v", r)
			}
		}
		w.sound(t)
	})
}

func TestTouchOfTheOldDoesNotTouchTheNew(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		old := w.begin(t, user)
		newer := w.begin(t, user)
		if err := w.sessions.Touch(t.Context(), old.ID, newer.Seen.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		got, err := w.sessions.Get(t.Context(), newer.ID, session.Hash{})
		if err != nil || !got.Seen.Equal(newer.Seen) {
			t.Errorf("the new login was seen at %v, want %v; %v", got.Seen, newer.Seen, err)
		}
	})
}

// The instant of an answer is taken before the database is asked. Here a
// logout is committed when the clock has been read.
func TestGetIsAsOfBeforeItsRead(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		asOf := start.Add(42)
		slow := &sqlstore.Sessions{DB: w.DB, Now: func() time.Time {
			if _, err := w.sessions.End(t.Context(), logout(s)); err != nil {
				t.Error(err)
			}
			return asOf
		}}
		got, err := slow.Get(t.Context(), s.ID, session.Hash{})
		if err != nil || got.Alive() || !got.AsOf.Equal(asOf) {
			t.Errorf("Get: ended %q as of %v, %v; alive then would be as of before it was read", got.Ended, got.AsOf, err)
		}
	})
}

func TestGetTellsWhatBeginMade(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		want := w.beginAt(t, user, start, start.Add(1500*time.Microsecond))
		if !want.Seen.Equal(start.Add(time.Millisecond)) {
			t.Errorf("Begin: seen at %v, want what the row keeps", want.Seen)
		}
		got, err := w.sessions.Get(t.Context(), want.ID, session.Hash{})
		got.AsOf, want.AsOf = time.Time{}, time.Time{}
		if err != nil || got != want || got.Username != "ada" || got.Role != "user" || got.UserID != user || got.Hash != hashOf(want.ID) {
			t.Errorf("Get: %+v, %v; want %+v", got, err, want)
		}
		for range 2 {
			if _, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: user, Reason: session.Revoked}, 0); err != nil {
				t.Fatal(err)
			}
			if got, err := w.sessions.Get(t.Context(), want.ID, session.Hash{}); err != nil || got.Ended != session.Revoked || got.Hash != want.Hash {
				t.Errorf("Get after the end: %+v, %v", got, err)
			}
			want = w.begin(t, user)
		}
		unknown(t, w, want.ID+1)
		unknown(t, w, 0)
	})
}

func unknown(t *testing.T, w *world, id idworker.ID) {
	t.Helper()
	if got, err := w.sessions.Get(context.Background(), id, session.Hash{}); err == nil || got.ID != 0 {
		t.Errorf("Get(%d): %+v, %v; want ErrNotFound", id, got, err)
	}
}
