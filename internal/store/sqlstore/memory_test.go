//go:build unix

package sqlstore_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// remembering is the service behind a memory with that clock.
func (w *world) remembering(t *testing.T, now func() time.Time) (*session.Service, *memstore.Sessions) {
	t.Helper()
	near, err := memstore.NewSessions(w.sessions, memstore.Options{Entries: 100, Bound: 5 * time.Second, Now: now})
	must(t, err)
	t.Cleanup(near.Close)
	rule := policy.Default()
	return &session.Service{Store: near, Rows: w.sessions, Writer: w.sessions, IDs: above{w.ids}, EventIDs: w.ids, Policy: always{&rule}}, near
}

// TestMemoryBringsNoNameBackAfterThePurge: an app of the person goes on with its token, so that
// memory never has to make room for another login. After the purge the token is unknown.
func TestMemoryBringsNoNameBackAfterThePurge(t *testing.T) {
	onSQLite(t, func(t *testing.T, w *world) {
		const name = "zebulon"
		w.admin(t, "root")
		user := w.user(t, name)
		later := time.Duration(0)
		s, near := w.remembering(t, func() time.Time { return time.Now().Add(later) })
		opened, err := s.Open(t.Context(), audit.Actor{Via: audit.ViaAPI}, user, 1, nil, session.Place{})
		must(t, err)
		_, err = s.Verify(t.Context(), opened.Token)
		must(t, err)
		ended, err := w.delete(t.Context(), user, name)
		must(t, err)
		must(t, near.Publish(t.Context(), ended...))
		for range 24 {
			later += time.Hour
			if _, err := s.Verify(t.Context(), opened.Token); !errors.Is(err, flakepass.ErrRevoked) {
				t.Fatal(err)
			}
		}
		w.run(t, "UPDATE users SET deleted_at = 1 WHERE id = ?", int64(user))
		w.deletions(time.Hour).AfterSweep(t.Context())
		w.wantNowhere(t, name, user)
		later += time.Hour
		_, err = s.Verify(t.Context(), opened.Token)
		if !errors.Is(err, flakepass.ErrInvalid) {
			t.Errorf("an hour after the purge the token is %v, want %v", err, flakepass.ErrInvalid)
		}
		if r, ok := operator.Refused(err); ok {
			c := &audit.Collector{Store: &sqlstore.Audit{DB: w.DB}, IDs: w.ids, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
			r.By.Via = audit.ViaAPI
			c.Note(r.Incident)
			must(t, c.Flush(t.Context()))
		}
		w.wantNowhere(t, name, user)
	})
}

// TestEndedTokenIsNotOnRecordUnderANameThatAnotherHas: what the record has by the name of a user is
// in the export of this user.
func TestEndedTokenIsNotOnRecordUnderANameThatAnotherHas(t *testing.T) {
	onSQLite(t, func(t *testing.T, w *world) {
		user := w.user(t, "ann")
		later := time.Duration(0)
		s, near := w.remembering(t, func() time.Time { return time.Now().Add(later) })
		opened, err := s.Open(t.Context(), audit.Actor{Via: audit.ViaAPI}, user, 1, nil, session.Place{})
		must(t, err)
		_, err = s.Close(t.Context(), audit.Actor{Via: audit.ViaAPI}, opened.Token)
		must(t, err)
		if _, err := s.Verify(t.Context(), opened.Token); !errors.Is(err, flakepass.ErrLoggedOut) { // memory has it from now on
			t.Fatal(err)
		}
		name := "bea"
		_, err = w.names().ChangeNames(t.Context(), shell, user, operator.NameChange{Username: &name})
		must(t, err)
		near.ApplyPoll(w.news(t, time.Time{}))
		w.user(t, "ann") // another person
		later += 24 * time.Hour
		_, err = s.Verify(t.Context(), opened.Token)
		if r, _ := operator.Refused(err); r.Target.Name == "ann" {
			t.Errorf("a day after the rename the record has the use of the old token as %s of %q, which is another person", r.Action, r.Target.Name)
		}
	})
}
