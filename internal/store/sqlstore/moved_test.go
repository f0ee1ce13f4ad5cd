//go:build unix

package sqlstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// afterRead does one thing after the other, each when the row of a user was read without a lock
// for a change of the account. The returned function fails unless all was done.
func (w *world) afterRead(t *testing.T, do ...func()) (done func()) {
	t.Helper()
	race := func(db *gorm.DB) {
		if sent := db.Statement.SQL.String(); len(do) > 0 && strings.Contains(sent, "deletion_asked_login") && strings.Contains(sent, "FROM settings s ") {
			next := do[0]
			do = do[1:]
			next()
		}
	}
	must(t, w.Gorm().Callback().Row().After("gorm:row").Register("after read", race))
	return func() {
		t.Helper()
		if len(do) != 0 {
			t.Fatalf("%d races were not run", len(do))
		}
	}
}

// TestDueDeletionIsNotCancelledByALostRace: an operator disables an account between the read and
// the write of a deletion that is due. The user has not come back, so the next try deletes.
func TestDueDeletionIsNotCancelledByALostRace(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		user := w.user(t, "ada")
		w.begin(t, user)
		if _, err := w.users.AskDeletion(t.Context(), user, w.eventOf(audit.DeletionAsked, user)); err != nil {
			t.Fatal(err)
		}
		done := w.afterRead(t, func() { w.run(t, "UPDATE users SET disabled_at = 1 WHERE id = ?", int64(user)) })
		if _, err := w.users.DeleteAsked(t.Context(), user, time.Now().Add(time.Hour), w.eventOf(audit.UserDeleted, user)); err != nil {
			t.Errorf("%v: operator.Deletions takes that for a user who has logged in, and cancels the deletion", err)
		}
		done()
		w.wantDeleted(t, user)
	})
}

// TestDeletedAgainAfterALostRace: a release that does not know of deletions has set a password
// for a deleted account. To delete it again is not over before that is gone.
func TestDeletedAgainAfterALostRace(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		user := w.user(t, "ada")
		if _, err := w.delete(t.Context(), user, "ada"); err != nil {
			t.Fatal(err)
		}
		w.run(t, "UPDATE users SET password_hash = '$' WHERE id = ?", int64(user))
		done := w.afterRead(t, func() { w.run(t, "UPDATE users SET password_version = password_version + 1 WHERE id = ?", int64(user)) })
		if _, err := w.delete(t.Context(), user, "ada"); err != nil {
			t.Error(err)
		}
		done()
		w.wantDeleted(t, user)
	})
}

// TestAskedDeletionKnowsTheLastLogin: a user asks for the deletion of the account on one device,
// while another device logs in. All these logins end with the request, and nobody logs in after
// it: so the account is deleted when the grace period is over.
func TestAskedDeletionKnowsTheLastLogin(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		w.allow(t, 2, 1)
		w.admin(t, "root")
		user := w.user(t, "ada")
		tablet := func() {
			o := w.opening(user)
			o.Device = &session.Device{Class: "tablet", Name: "old"}
			if _, err := w.login(t.Context(), o); err != nil {
				t.Error(err)
			}
		}
		tablet() // in slot 0
		w.begin(t, user)
		done := w.afterRead(t, tablet, tablet)
		if ended, err := w.users.AskDeletion(t.Context(), user, w.eventOf(audit.DeletionAsked, user)); err != nil || len(ended) != 2 {
			t.Fatalf("%d ended, %v", len(ended), err)
		}
		done()
		if n := len(w.livingOf(t, user)); n != 0 {
			t.Fatalf("%d live", n)
		}
		if _, err := w.users.DeleteAsked(t.Context(), user, time.Now().Add(time.Hour), w.eventOf(audit.UserDeleted, user)); err != nil {
			t.Errorf("%v: operator.Deletions takes that for a user who has logged in, and cancels the deletion", err)
		}
	})
}

// TestLoginThatCameAndWentIsNoticed: a login that begins and ends between the read of a row and
// its write leaves the row without a login, as it was read.
func TestLoginThatCameAndWentIsNoticed(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		visit := func(user idworker.ID) func() {
			return func() {
				o := w.opening(user)
				o.PasswordVersion = w.row(t, user).Version
				o.Cancels = &session.Record{ID: w.ids.next(0), By: shell, Need: audit.NeedsNothing}
				begun, err := w.login(t.Context(), o)
				if err != nil {
					t.Error(err)
				}
				if _, err := w.endAny(t, session.Ending{ID: begun.Session.ID, Hash: begun.Session.Hash, Reason: session.LoggedOut}); err != nil {
					t.Error(err)
				}
			}
		}
		ask := func(user idworker.ID) {
			if _, err := w.users.AskDeletion(t.Context(), user, w.eventOf(audit.DeletionAsked, user)); err != nil {
				t.Error(err)
			}
		}
		back, away := w.user(t, "ada"), w.user(t, "bob")
		ask(back)
		done := w.afterRead(t, visit(away), visit(back))
		ask(away)
		deleteAsked := func(user idworker.ID) error {
			_, err := w.users.DeleteAsked(t.Context(), user, time.Now().Add(time.Hour), w.eventOf(audit.UserDeleted, user))
			return err
		}
		if err := deleteAsked(back); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("a deletion that a login has cancelled meanwhile: %v", err)
		}
		done()
		if err := deleteAsked(away); err != nil {
			t.Errorf("a deletion that was asked for after the last login: %v", err)
		}
	})
}

// TestAskedDeletionKeepsAnImportedPassword: who asks to be deleted comes back with the password
// of before, also if it was imported and is too short for a new one. One that was imported and
// changed since, or was not imported, is under the rules for new passwords as before.
func TestAskedDeletionKeepsAnImportedPassword(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		users := map[string]idworker.ID{}
		for name, change := range map[string]string{
			"imported": "imported_version = password_version", "changed": "imported_version = password_version, password_version = password_version + 1", "ours": "imported_version = NULL",
		} {
			users[name] = w.user(t, name)
			w.run(t, "UPDATE users SET "+change+" WHERE id = ?", int64(users[name]))
		}
		for name, user := range users {
			for range 2 {
				if _, err := w.users.AskDeletion(t.Context(), user, w.eventOf(audit.DeletionAsked, user)); err != nil {
					t.Fatal(err)
				}
				if u, err := w.users.ByID(t.Context(), user); err != nil || u.BroughtPassword() != (name == "imported") {
					t.Errorf("%s: %+v, %v", name, u, err)
				}
			}
		}
	})
}
