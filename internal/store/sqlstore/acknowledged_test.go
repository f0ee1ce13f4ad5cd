//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv/migrated"
)

// An answer about all instances needs the stamp from which they learn it.
func TestEndIsNotAcknowledgedWithoutItsStamp(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.SetLate(0) // each end is stamped anew
		s := w.begin(t, w.user(t, "ada"))
		lost := errors.New("the second stamp was lost")
		must(t, w.Gorm().Callback().Raw().Before("gorm:raw").Register("no stamp", func(db *gorm.DB) {
			if strings.HasPrefix(db.Statement.SQL.String(), "UPDATE users SET token_floor_at = ") {
				_ = db.AddError(lost)
			}
		}))
		for _, c := range []struct {
			name string
			end  session.Ending
		}{
			{"a slow logout", logout(s)},
			{"the logout that is asked for again", logout(s)},
			{"an operator's, where nothing lives any more", session.Ending{UserID: s.UserID, Reason: session.Revoked}},
		} {
			if _, err := w.endAny(t, c.end); !errors.Is(err, lost) || errors.Is(err, session.ErrNotFound) {
				t.Errorf("%s: %v; want what became of the stamp", c.name, err)
			}
		}
	})
}

// A login whose end was committed late may still be believed, and its row has no
// login any more. Ten minutes are longer than anybody believes it.
func TestEndOfAllCoversWhatEndedLately(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			ago  time.Duration
			want bool
		}{{9 * time.Minute, true}, {11 * time.Minute, false}} {
			// By a clock that is ahead: otherwise the time of now would cover it.
			s := w.beginAt(t, w.user(t, c.ago.String()), time.Now().Add(time.Hour+c.ago), start)
			_, err := w.sessions.End(t.Context(), logout(s))
			must(t, err)
			w.exec(t, "UPDATE users SET token_floor_at = token_floor_at - ? WHERE id = ?", c.ago.Milliseconds(), int64(s.UserID))
			floor, err := w.settings().EndAll(t.Context(), time.Now())
			if err != nil || floor >= s.ID != c.want {
				t.Errorf("ended %v ago: below the floor %v, %v; want %v", c.ago, floor >= s.ID, err, c.want)
			}
		}
	})
}

// A server that takes a COMMIT and says nothing is given up on when the one limit
// is over, as one that takes any other statement.
func TestHungCommitTakesOneLimit(t *testing.T) {
	t.Parallel()
	dsn, hang := throughRelay(t, migrated.MySQL(t))
	w := newWorld(t, onServer(t, dsn))
	s := w.begin(t, w.user(t, "ada"))
	must(t, w.Gorm().Callback().Raw().After("gorm:raw").Register("hang", func(db *gorm.DB) {
		if strings.HasPrefix(db.Statement.SQL.String(), "UPDATE users SET token_seen_at") {
			hang() // what comes next is the COMMIT
		}
	}))
	_, err := w.sessions.TouchAll(t.Context(), map[idworker.ID]time.Time{s.ID: time.Now()}, time.Millisecond)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the end of its own limit", err)
	}
}
