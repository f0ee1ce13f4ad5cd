//go:build unix

package sqlstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// settled is what the row decides, at which the login was used then.
func (w *world) settled(t *testing.T, s session.Session, used time.Time) session.Session {
	t.Helper()
	got, err := w.sessions.Settle(t.Context(), s.ID, used)
	must(t, err)
	if got.ID != s.ID || got.Hash != s.Hash || got.UserID != s.UserID {
		t.Errorf("settled %+v, want %v", got, s.ID)
	}
	return got
}

func TestRowSettlesWhetherALoginIsOver(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		now, rule := time.Now(), policy.Default()
		for name, c := range map[string]struct {
			issued, seen time.Duration // ago
			want         session.Reason
		}{
			"alive":      {rule.Absolute - time.Hour, rule.Idle - time.Hour, ""},
			"idle":       {rule.Absolute - time.Hour, rule.Idle + time.Hour, session.Idle},
			"expired":    {rule.Absolute + time.Hour, time.Hour, session.Expired},
			"both":       {rule.Absolute + time.Hour, rule.Idle + time.Hour, session.Expired},
			"used since": {rule.Idle + time.Hour, time.Minute, ""},
		} {
			seen := now.Add(-c.seen)
			s := w.beginAt(t, w.user(t, name), now.Add(-c.issued), seen)
			for _, used := range []time.Time{{}, now} {
				got := w.settled(t, s, used)
				want := seen.Truncate(time.Millisecond)
				if c.want == "" && !used.IsZero() {
					want = used.Truncate(time.Millisecond)
				}
				if got.Ended != c.want || !got.Seen.Equal(want) || w.row(t, s.UserID).Seen.Int64 != want.UnixMilli() {
					t.Errorf("%s, used %v: ended %q, seen %v, and the row says %v; want %q and %v", name, !used.IsZero(), got.Ended, got.Seen,
						time.UnixMilli(w.row(t, s.UserID).Seen.Int64).UTC(), c.want, want.UTC())
				}
			}
		}
		if _, err := w.sessions.Settle(t.Context(), 4711, now); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("nobody's login: %v", err)
		}
	})
}

// What has ended otherwise is told as it ended, and by nobody's use begun anew.
func TestRowSettlesNothingAnew(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.begin(t, w.user(t, "ada"))
		_, err := w.sessions.End(t.Context(), logout(s))
		must(t, err)
		if got := w.settled(t, s, time.Now()); got.Ended != session.LoggedOut {
			t.Errorf("ended %q, want that it logged out", got.Ended)
		}
		below := w.begin(t, s.UserID)
		_, err = w.settings().EndAll(t.Context(), time.Now())
		must(t, err)
		if got := w.settled(t, below, time.Now()); got.Ended != session.Revoked {
			t.Errorf("ended %q, want what is below the global floor revoked", got.Ended)
		}
	})
}

// A time of last use is neither later than the clock of the database nor worth a
// write within the touch interval.
func TestSettledUseIsNoLaterThanNow(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		now := time.Now()
		s := w.beginAt(t, w.user(t, "ada"), now.Add(-time.Hour), now.Add(-time.Hour))
		if got := w.settled(t, s, now.Add(24*time.Hour)); got.Seen.After(time.Now().Add(time.Second)) || got.Seen.Before(now.Add(-time.Second)) {
			t.Errorf("seen at %v, now it is %v", got.Seen, now)
		}
		before := w.row(t, s.UserID).Seen.Int64
		if got := w.settled(t, s, time.Now().Add(time.Second)); got.Seen.UnixMilli() != before {
			t.Errorf("written again after %d ms", got.Seen.UnixMilli()-before)
		}
	})
}

// A use that somebody is writing may save the login.
func TestRefusalWaitsForAUseThatIsBeingWritten(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		now := time.Now()
		idle := now.Add(-policy.Default().Idle)
		s := w.beginAt(t, w.user(t, "ada"), idle, idle)
		use := w.transaction(t)
		run(t, use, "UPDATE users SET token_seen_at = ? WHERE id = ?", now.UnixMilli(), int64(s.UserID))
		type answer struct {
			s   session.Session
			err error
		}
		answers := make(chan answer, 1)
		go func() { s, err := w.sessions.Settle(t.Context(), s.ID, time.Time{}); answers <- answer{s, err} }()
		testenv.Eventually(t, time.Minute, func() bool { return len(answers) > 0 || w.someoneWaits(t) }, "the refusal to wait")
		must(t, use.Commit())
		if got := <-answers; got.err != nil || !got.s.Alive() || got.s.Seen.UnixMilli() != now.UnixMilli() {
			t.Errorf("ended %q, seen %v, %v; want it alive, and seen at %v", got.s.Ended, got.s.Seen, got.err, now.UTC())
		}
	})
}

// Nobody can say what the policy will be whose change is under way.
func TestNothingIsDecidedByAPolicyThatIsBeingChanged(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) { // in a file a change and a decision take turns
		idle := time.Now().Add(-policy.Default().Idle)
		s := w.beginAt(t, w.user(t, "ada"), idle, idle)
		alive := w.begin(t, w.user(t, "bob"))
		w.exec(t, "UPDATE users SET token_seen_at = ? WHERE id = ?", time.Now().UnixMilli(), int64(alive.UserID))
		change := w.transaction(t)
		run(t, change, "UPDATE settings SET idle_timeout_ms = 2 * idle_timeout_ms, version = version + 1 WHERE scope = 'global'")
		if got, err := w.sessions.Settle(t.Context(), s.ID, time.Time{}); !errors.Is(err, session.ErrUnsettled) {
			t.Errorf("ended %q, %v; want that it is not certain", got.Ended, err)
		}
		if got := w.settled(t, alive, time.Time{}); !got.Alive() {
			t.Errorf("what lives by the policy of before has ended: %q", got.Ended)
		}
		must(t, change.Commit())
		if got := w.settled(t, s, time.Time{}); !got.Alive() {
			t.Errorf("by the longer policy it has ended: %q", got.Ended)
		}
	})
}

// The row judges a use by the policy in which it is written, and says so.
func TestRowRefusesAUseOfWhatThePolicyHasEnded(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		now := time.Now()
		idle := now.Add(-policy.Default().Idle).Truncate(time.Millisecond)
		dead := w.beginAt(t, w.user(t, "ada"), idle, idle)
		live := w.beginAt(t, w.user(t, "bob"), idle, idle.Add(time.Hour))
		rows, err := w.sessions.TouchAll(t.Context(), map[idworker.ID]time.Time{dead.ID: now, live.ID: now, 4711: now}, time.Minute)
		must(t, err)
		for _, c := range []struct {
			id, user idworker.ID
			told     time.Time
			seen     int64
		}{
			{dead.ID, dead.UserID, time.Time{}, idle.UnixMilli()},
			{live.ID, live.UserID, now.Truncate(time.Millisecond), now.UnixMilli()},
		} {
			told, ok := rows[c.id]
			if !ok || !told.Equal(c.told) || w.row(t, c.user).Seen.Int64 != c.seen {
				t.Errorf("told %v (%v), and the row says %v; want %v and %v", told, ok, w.row(t, c.user).Seen.Int64, c.told, c.seen)
			}
		}
		if told, ok := rows[4711]; !ok || !told.IsZero() {
			t.Errorf("nobody's login: %v, %v; want that it is refused", told, ok)
		}
	})
}
