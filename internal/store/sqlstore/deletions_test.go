//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

func (w *world) delete(ctx context.Context, user idworker.ID, name string) ([]session.Session, error) {
	return w.users.Delete(ctx, user, name, audit.Event{ID: w.ids.next(0), By: shell, Need: audit.NeedsProof, Action: audit.UserDeleted, Target: audit.AboutUser(user, name)})
}

// wantDeleted fails unless nothing of a user could log in, also by what the previous release
// reads: disabled_at, and not deleted_at.
func (w *world) wantDeleted(t testing.TB, user idworker.ID) {
	t.Helper()
	if n := w.number(t, "SELECT COUNT(*) FROM users WHERE id = ? AND deleted_at IS NOT NULL AND disabled_at IS NOT NULL AND password_hash = '' AND token_id IS NULL "+
		"AND second_factor_secret IS NULL AND second_factor_at IS NULL AND recovery_codes IS NULL AND deletion_asked_at IS NULL", int64(user)); n != 1 {
		t.Error("something of the user is left")
	}
	for _, left := range []string{
		"user_slots WHERE user_id = ? AND token_id IS NOT NULL", "password_resets WHERE user_id = ?", "service_keys WHERE user_id = ? AND revoked_at IS NULL",
	} {
		if w.number(t, "SELECT COUNT(*) FROM "+left, int64(user)) != 0 {
			t.Error("left in ", left)
		}
	}
	if _, err := w.users.ByID(t.Context(), user); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("found by ID: %v", err)
	}
	w.sound(t)
}

// TestDeletedIsNotFound: whatever could log in is gone with the deletion, no verb finds the
// account, and nobody gets its name before the purge.
func TestDeletedIsNotFound(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		k := w.service(t, "ada")
		key, user := k.key(t, servicekey.Verify), k.user
		w.run(t, "UPDATE users SET external_id = 'x1' WHERE id = ?", int64(user))
		login := w.begin(t, user)
		w.confirmed(t, user)
		r := w.reset(t, user)

		if _, err := w.delete(t.Context(), user, "bob"); !errors.Is(err, account.ErrNotNamed) {
			t.Errorf("by another name: %v", err)
		}
		if _, err := w.users.ByID(t.Context(), user); err != nil || w.recorded(t, audit.UserDeleted) != 0 {
			t.Errorf("another name has deleted: %v", err)
		}
		ended, err := w.delete(t.Context(), user, "ada")
		if err != nil || len(ended) != 1 || ended[0].ID != login.ID || ended[0].Ended != session.Revoked {
			t.Fatalf("delete: %+v, %v", ended, err)
		}
		w.wantDeleted(t, user)
		again, err := w.delete(t.Context(), user, "ada")
		if err != nil || len(again) != 1 || !again[0].Before || w.recorded(t, audit.UserDeleted) != 1 {
			t.Errorf("again: %+v, %v", again, err)
		}

		// Nobody finds it.
		enable := func(u account.User) (account.User, []audit.Event, error) {
			u.DisabledAt = time.Time{}
			return u, nil, nil
		}
		_, _, _, change := w.users.Change(t.Context(), user, enable)
		_, password := w.users.ResetPassword(t.Context(), user, 3, account.NewPHC("$x"), w.eventOf(audit.PasswordReset, user))
		_, factor := w.factors().RemoveAndEnd(t.Context(), user, 3, w.eventOf(audit.SecondFactorRemoved, user))
		_, _, logins := w.users.WithLogins(t.Context(), user)
		_, named := w.users.ByUsername(t.Context(), "ada")
		_, _, anotherKey := k.tryKey(t.Context(), user)
		_, begin := w.login(t.Context(), session.Opening{UserID: user, PasswordVersion: 3, Seen: start})
		for what, err := range map[string]error{
			"change": change, "password": password, "factor": factor, "logins": logins, "named": named, "key": anotherKey, "begin": begin,
			"reset": w.users.StartReset(t.Context(), r, w.eventOf(audit.ResetStarted, user)),
		} {
			if !errors.Is(err, account.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, _, err := w.users.ByReset(t.Context(), r.Hash, start); !errors.Is(err, account.ErrReset) {
			t.Errorf("link: %v", err)
		}
		held, err := k.keys.Find(t.Context(), key.ID)
		if err != nil || held.May(time.Now(), servicekey.Verify) == nil {
			t.Errorf("key: %+v, %v", held, err)
		}
		newest, _ := w.users.Newest(t.Context(), 0, 10)
		list, _ := w.users.List(t.Context(), 0, 10)
		prefix, _ := w.users.Named(t.Context(), "ad", "", 10)
		if len(newest) != 1 || len(list) != 1 || len(prefix) != 0 {
			t.Errorf("lists: %v, %v, %v", newest, list, prefix)
		}

		// The name and the external ID are taken.
		if err := w.users.Create(t.Context(), account.User{ID: w.ids.next(0), Username: "ada", Role: account.RoleUser, PasswordVersion: 1}); !errors.Is(err, account.ErrExists) {
			t.Errorf("created again: %v", err)
		}
		var rejected []string
		done, err := w.importing(t, &rejected).Run(t.Context(), shell, slices.Values([]operator.Incoming{
			{Line: 1, Username: "ada", ExternalID: "x1", Role: "service", Disabled: true}, {Line: 2, Username: "new", ExternalID: "x1"},
		}))
		if err != nil || done.Conflicts != 2 || !slices.Equal(rejected, []string{"1 username conflict", "2 external_id conflict"}) {
			t.Errorf("imported again: %+v, %q, %v", done, rejected, err)
		}
	})
}

// TestDeletionAgainNeedsTheSame: that a user is deleted already is told to those only who may
// delete.
func TestDeletionAgainNeedsTheSame(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		root := w.admin(t, "root")
		user, s := w.user(t, "ada"), w.begin(t, root)
		by := audit.Actor{ID: root, Session: s.ID, Name: "root", Via: audit.ViaAPI}
		del := func() error {
			_, err := w.users.Delete(t.Context(), user, "ada", audit.Event{ID: w.ids.next(0), By: by, Need: audit.NeedsProof, Action: audit.UserDeleted, Target: audit.AboutUser(user, "ada")})
			return err
		}
		w.run(t, "UPDATE users SET token_proved_at = token_proved_at - 660000 WHERE id = ?", int64(root))
		if err := del(); !errors.Is(err, audit.ErrUnproven) {
			t.Errorf("without a proof: %v", err)
		}
		if _, err := w.users.ByID(t.Context(), user); err != nil {
			t.Error(err)
		}
		if _, err := w.delete(t.Context(), user, "ada"); err != nil {
			t.Fatal(err)
		}
		if err := del(); !errors.Is(err, audit.ErrUnproven) {
			t.Errorf("again, without a proof: %v", err)
		}
		w.run(t, "UPDATE users SET token_proved_at = token_proved_at + 660000 WHERE id = ?", int64(root))
		if err := del(); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

// TestLastAdminIsNotDeleted by an operator, by asking for it, or when the grace period is over.
func TestLastAdminIsNotDeleted(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada, bob := w.admin(t, "ada"), w.admin(t, "bob")
		ask := func(user idworker.ID) error {
			_, err := w.users.AskDeletion(t.Context(), user, w.eventOf(audit.DeletionAsked, user))
			return err
		}
		if err := errors.Join(ask(ada), ask(bob)); err != nil {
			t.Fatal(err) // either may come back
		}
		w.run(t, "UPDATE users SET deletion_asked_at = deletion_asked_at - 100000000")
		w.deletions(time.Hour).AfterSweep(t.Context())
		if n := w.number(t, "SELECT COUNT(*) FROM users WHERE deleted_at IS NULL AND deletion_asked_at IS NULL"); n != 1 {
			t.Fatalf("%d admins are left", n)
		}
		left, name := ada, "ada"
		if _, err := w.users.ByID(t.Context(), ada); err != nil {
			left, name = bob, "bob"
		}
		if _, err := w.delete(t.Context(), left, name); !errors.Is(err, account.ErrLastAdmin) {
			t.Errorf("deleted: %v", err)
		}
		if err := ask(left); !errors.Is(err, account.ErrLastAdmin) {
			t.Errorf("asked: %v", err)
		}
		if w.recorded(t, audit.DeletionOff) != 1 {
			t.Error("the record does not say that the deletion was cancelled")
		}
	})
}

func (w *world) deletions(grace time.Duration) *operator.Deletions {
	return &operator.Deletions{Store: w.users, Asked: w.users, Keep: 0, Grace: grace, IDs: w.ids, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

// TestDeleteRaces: whatever else is done to an account at the same time, on another instance,
// nothing of it survives its deletion.
func TestDeleteRaces(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		other := &world{DB: open(t, w.options), ids: w.ids, options: w.options}
		other.users, other.sessions = &sqlstore.Users{DB: other.DB}, &sqlstore.Sessions{DB: other.DB}
		for round := range 6 {
			k := w.service(t, fmt.Sprintf("ada%d", round))
			user, name := k.user, fmt.Sprintf("ada%d", round)
			w.begin(t, user)
			r := w.reset(t, user)
			if ok, err := w.factors().Begin(t.Context(), shell, user, []byte("sealed")); err != nil || !ok {
				t.Fatal(err)
			}
			key := k.key(t, servicekey.Revoke)
			role, disabled, enabled := other.become(account.RoleUser), other.disabled(), func(u account.User) (account.User, []audit.Event, error) {
				u.DisabledAt = time.Time{}
				return u, nil, nil
			}
			change := func(decide func(account.User) (account.User, []audit.Event, error)) error {
				_, _, _, err := other.users.Change(t.Context(), user, decide)
				return err
			}
			acts := []func() error{
				func() error { _, err := other.login(t.Context(), other.opening(user)); return err },
				func() error { _, err := other.useAt(t, r, 1, "$link", start); return err },
				func() error {
					_, err := other.factors().Confirm(t.Context(), user, []byte("sealed"), secondfactor.Factor{At: start, Recovery: []byte("codes")}, other.aboutFactor(user, audit.SecondFactorEnrolled))
					return err
				},
				func() error {
					_, err := other.newPassword(t.Context(), user, 1, "$changed")
					return err
				},
				func() error { return other.users.Rehash(t.Context(), user, 1, account.NewPHC("$rehashed")) },
				func() error { return change(role) },
				func() error { return errors.Join(change(disabled), change(enabled)) },
				func() error {
					return other.users.StartReset(t.Context(), account.Reset{ID: other.ids.next(0), UserID: user, Hash: account.NewResetToken().Hash(), ExpiresAt: start.Add(time.Hour)},
						other.eventOf(audit.ResetStarted, user))
				},
				func() error { _, _, err := k.tryKey(t.Context(), user, servicekey.Revoke); return err },
				func() error { return k.keys.Used(t.Context(), key.ID, start) },
				func() error {
					_, err := other.users.AskDeletion(t.Context(), user, other.eventOf(audit.DeletionAsked, user))
					return err
				},
				func() error { _, err := other.delete(t.Context(), user, name); return err },
			}
			atOnce(len(acts)+1, func(i int) {
				if i < len(acts) {
					_ = acts[i]() // it comes before the deletion, or finds nothing
					return
				}
				if _, err := untilInTime(t, func() error { _, err := w.delete(t.Context(), user, name); return err }); err != nil {
					t.Error(err)
				}
			})
			w.wantDeleted(t, user)
		}
	})
}

// TestImportRacesDelete: the line of a user who is deleted meanwhile makes no second account.
func TestImportRacesDelete(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for i := range 4 {
			name := fmt.Sprintf("ada%d", i)
			user := w.user(t, name)
			w.run(t, "UPDATE users SET external_id = ? WHERE id = ?", name, int64(user))
			atOnce(2, func(n int) {
				if n == 0 {
					if _, err := w.delete(t.Context(), user, name); err != nil {
						t.Error(err)
					}
					return
				}
				var rejected []string
				if done, err := w.importing(t, &rejected).Run(t.Context(), shell, slices.Values([]operator.Incoming{{Line: 1, Username: name, ExternalID: name}})); err != nil || done.Added != 0 {
					t.Errorf("%+v, %v", done, err)
				}
			})
			w.wantDeleted(t, user)
		}
	})
}

// TestLoginCancelsDeletion, with its event; one by the previous release does, too, although it
// does not know of it; and who does not log in is deleted.
func TestLoginCancelsDeletion(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		users := map[string]idworker.ID{}
		for _, name := range []string{"back", "older", "away", "bot"} {
			users[name] = w.user(t, name)
			login := w.beginAt(t, users[name], start, start)
			ended, err := w.users.AskDeletion(t.Context(), users[name], w.eventOf(audit.DeletionAsked, users[name]))
			if err != nil || len(ended) != 1 || ended[0].ID != login.ID || ended[0].Ended != session.LoggedOut {
				t.Fatalf("%+v, %v", ended, err)
			}
		}
		o := w.opening(users["back"])
		o.PasswordVersion = 2
		if _, err := w.login(t.Context(), o); !errors.Is(err, session.ErrDeletionAsked) {
			t.Errorf("without an event: %v", err)
		}
		o.Cancels = &session.Record{ID: w.ids.next(0), By: audit.Actor{Via: audit.ViaAPI}, Need: audit.NeedsNothing}
		if begun, err := w.login(t.Context(), o); err != nil || !begun.DeletionCancelled {
			t.Errorf("%+v, %v", begun, err)
		}
		// The grace is over; one has logged in by a release that leaves the column as it is.
		w.run(t, "UPDATE users SET deletion_asked_at = deletion_asked_at - 100000000")
		asked := w.number(t, "SELECT deletion_asked_at FROM users WHERE id = ?", int64(users["older"]))
		w.run(t, "UPDATE users SET deletion_asked_at = NULL WHERE id = ?", int64(users["older"]))
		o.UserID, o.Cancels = users["older"], nil
		if _, err := w.login(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		w.run(t, "UPDATE users SET deletion_asked_at = ? WHERE id = ?", asked, int64(users["older"]))
		// A service may have no way to log in.
		if _, _, _, err := w.users.Change(t.Context(), users["bot"], w.become(account.RoleService)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			w.deletions(time.Hour).AfterSweep(t.Context())
		}
		for name, user := range users {
			u, err := w.users.ByID(t.Context(), user)
			if gone := errors.Is(err, account.ErrNotFound); gone != (name == "away") || !u.DeletionAskedAt.IsZero() {
				t.Errorf("%s: %+v, %v", name, u, err)
			}
		}
		w.wantDeleted(t, users["away"])
		if w.recorded(t, audit.DeletionOff) != 3 || w.recorded(t, audit.UserDeleted) != 1 {
			t.Error("the record does not say so")
		}
	})
}

// TestLoginSinceAskingIsKnownByItsID: whatever the clocks say, an account is kept if a release
// that does not know of deletions has let its user in since, and only then; and a proof of
// before the person asked begins no login.
func TestLoginSinceAskingIsKnownByItsID(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		old, away := w.user(t, "ada"), w.user(t, "bob")
		ticket := w.opening(old)
		for _, user := range []idworker.ID{old, away} {
			w.begin(t, user)
			w.run(t, "UPDATE users SET token_id = token_id + ? WHERE id = ?", int64(1)<<50, int64(user)) // by a clock far ahead
			if _, err := w.users.AskDeletion(t.Context(), user, w.eventOf(audit.DeletionAsked, user)); err != nil {
				t.Fatal(err)
			}
		}
		ticket.Cancels = &session.Record{ID: w.ids.next(0), By: audit.Actor{Via: audit.ViaAPI}, Need: audit.NeedsNothing}
		if _, err := w.login(t.Context(), ticket); !errors.Is(err, account.ErrStale) {
			t.Errorf("with a proof of before: %v", err)
		}
		asked := w.number(t, "SELECT deletion_asked_at FROM users WHERE id = ?", int64(old))
		w.run(t, "UPDATE users SET deletion_asked_at = NULL WHERE id = ?", int64(old))
		o := w.opening(old)
		o.PasswordVersion = 2
		if _, err := w.login(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		w.run(t, "UPDATE users SET deletion_asked_at = ? WHERE id = ?", asked, int64(old))
		for user, want := range map[idworker.ID]error{old: account.ErrNotFound, away: nil} {
			if _, err := w.users.DeleteAsked(t.Context(), user, time.Now().Add(time.Hour), w.eventOf(audit.UserDeleted, user)); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		}
	})
}

// TestPurgeLeavesNoName: no column of any table has the name after the purge, or the ID but
// for the record; the purge goes on where it was interrupted, and several do no harm.
func TestPurgeLeavesNoName(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const name = "zebulon"
		admin := w.admin(t, "root")
		k := w.service(t, name)
		user := k.user
		k.key(t, servicekey.Verify)
		w.reset(t, user)
		w.run(t, "INSERT INTO known_places (user_id, place, seen_at) VALUES (?, x'01', 1)", int64(user))
		w.run(t, "INSERT INTO login_guards (guard, version, full_at, period, told_at) VALUES (?, 1, 1, 1, 1)", int64(user))
		w.run(t, "UPDATE policies SET updated_by = ?", name)
		w.run(t, "UPDATE settings SET updated_by = ?", name)
		w.run(t, "UPDATE users SET role = 'admin' WHERE id = ?", int64(user))
		w.run(t, "INSERT INTO sweeps (id, instance, requested_by, started_at, outcome) VALUES (1, 'a', ?, 1, 'done')", name)
		me := audit.Actor{ID: user, Name: name, Via: audit.ViaConsole, Address: "192.0.2.1"}
		var events []audit.Event
		// A name that the person had before, and that another has now.
		old, other := audit.Actor{ID: user, Name: name + "ette", Via: audit.ViaAPI}, audit.Actor{ID: admin, Name: name + "ette", Via: audit.ViaAPI}
		events = append(events,
			audit.Event{ID: w.ids.next(0), By: old, Need: audit.NeedsNothing, Action: audit.LoginBegan, Target: audit.AboutLogin(w.ids.next(0), old.Name)},
			audit.Event{ID: w.ids.next(0), By: old, Need: audit.NeedsNothing, Action: "user.renamed", Target: audit.AboutUser(user, old.Name), Old: []byte(`{"username":"zebulonette"}`), New: []byte(`{"username":"zebulon"}`)},
			audit.Event{ID: w.ids.next(0), By: old, Need: audit.NeedsNothing, Action: "user.aliases_changed", Target: audit.AboutUser(user, name), New: []byte(`{"aliases":["zebulon@example.org"]}`)},
			audit.Event{ID: w.ids.next(0), By: other, Need: audit.NeedsNothing, Action: audit.LoginBegan, Target: audit.AboutLogin(w.ids.next(0), other.Name)})
		for i := range 700 {
			e := audit.Event{ID: w.ids.next(0), By: me, Need: audit.NeedsNothing, Action: audit.LoginBegan, Target: audit.AboutLogin(w.ids.next(0), name), New: []byte(`{"device_class":"phone","device_name":"zebulon's phone"}`)}
			if i%2 == 0 {
				e.By, e.Action, e.Target = audit.Actor{ID: admin, Name: "root", Via: audit.ViaAPI}, audit.LoginEnded, audit.AboutUser(user, name)
				e.Old = []byte(`[{"session_id":"7","username":"zebulon","last_seen_at":"x"}]`)
			}
			events = append(events, e)
		}
		for _, action := range []audit.Action{audit.LoginNewPlace, audit.LoginAfterMisses} { // which have no actor
			events = append(events, audit.Event{ID: w.ids.next(0), By: audit.Actor{Via: audit.ViaAPI, Address: "192.0.2.1"}, Need: audit.NeedsNothing, Action: action, Target: audit.AboutUser(user, name)})
		}
		events = append(events, audit.Event{ID: w.ids.next(0), By: me, Need: audit.NeedsNothing, Action: audit.UserDisabled, Target: audit.AboutUser(admin, "root"), Reason: "why"})
		if err := (&sqlstore.Audit{DB: w.DB}).AppendAll(t.Context(), events); err != nil {
			t.Fatal(err)
		}
		if _, err := w.delete(t.Context(), user, name); err != nil {
			t.Fatal(err)
		}
		d := w.deletions(time.Hour)
		w.run(t, "UPDATE users SET deleted_at = deleted_at - 82800000 WHERE id = ?", int64(user)) // 23 hours
		if d.AfterSweep(t.Context()); w.number(t, "SELECT COUNT(*) FROM users WHERE id = ?", int64(user)) != 1 {
			t.Fatal("purged before its time")
		}
		w.run(t, "UPDATE users SET deleted_at = deleted_at - 3600001 WHERE id = ?", int64(user))
		if n, err := w.users.Forget(t.Context(), account.User{ID: user, Username: name}, 200); err != nil || n != 200 { // and the instance dies
			t.Fatalf("%d, %v", n, err)
		}
		atOnce(3, func(int) { w.deletions(time.Hour).AfterSweep(t.Context()) })
		d.AfterSweep(t.Context())
		if n := w.number(t, "SELECT COUNT(*) FROM audit_events WHERE actor = ? AND target = ?", other.Name, other.Name); n != 1 {
			t.Errorf("%d events of another who has a former name are left, want 1", n)
		}
		w.run(t, "DELETE FROM audit_events WHERE actor_id = ? AND actor = ?", int64(admin), other.Name)
		if n := w.number(t, "SELECT COUNT(*) FROM audit_events WHERE address <> '' AND address = '192.0.2.1'"); n != 0 {
			t.Errorf("%d addresses of the person are left", n)
		}
		w.wantNowhere(t, name, user)
		if n := w.number(t, "SELECT COUNT(*) FROM audit_events WHERE actor_id = ? OR target_id = ?", int64(user), int64(user)); n < 706 {
			t.Errorf("the record has %d entries of the ID", n)
		}
		if w.number(t, "SELECT COUNT(*) FROM audit_events WHERE target = 'root' AND reason = 'why' AND actor_id = ?", int64(user)) != 1 || w.recorded(t, audit.UserPurged) != 1 {
			t.Error("what happened is not on record")
		}
		if err := w.users.Create(t.Context(), account.User{ID: w.ids.next(0), Username: name, Role: account.RoleUser, PasswordVersion: 1}); err != nil {
			t.Errorf("the name is not free: %v", err)
		}
	})
}

// TestPurgeKeepsWhatOthersDid under the same name: the operator of a shell has no ID.
func TestPurgeKeepsWhatOthersDid(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const name = "root@vm"
		w.admin(t, "root")
		user := w.user(t, name)
		for version := range 3 {
			w.run(t, "INSERT INTO policies (scope, version, idle_timeout_ms, absolute_lifetime_ms, touch_interval_ms, sweep_schedule, updated_at, updated_by) "+
				"SELECT scope, version + ?, idle_timeout_ms, absolute_lifetime_ms, touch_interval_ms, sweep_schedule, updated_at, ? FROM policies WHERE version = 1", version+1, name)
			w.run(t, "INSERT INTO sweeps (id, instance, requested_by, started_at, outcome) VALUES (?, 'a', ?, 1, 'done')", version+2, name)
		}
		did := func(by audit.Actor, version int) {
			policy := audit.Event{ID: w.ids.next(0), By: by, Action: audit.PolicyChanged, Target: audit.Target{Kind: "policy", Name: "global"}, New: fmt.Appendf(nil, `{"version":%d,"x":1}`, version)}
			sweep := audit.Event{ID: w.ids.next(0), By: by, Action: audit.SweepRequested, Target: audit.Target{Kind: "sweep", ID: idworker.ID(version)}}
			if err := (&sqlstore.Audit{DB: w.DB}).AppendAll(t.Context(), []audit.Event{policy, sweep}); err != nil {
				t.Fatal(err)
			}
		}
		did(audit.Actor{Name: name, Via: audit.ViaCLI}, 2)
		did(audit.Actor{ID: user, Name: name, Via: audit.ViaAPI}, 3)
		for _, of := range []struct {
			role account.Role
			left int64 // version 4 is older than the record
		}{{account.RoleUser, 2}, {account.RoleAdmin, 1}} {
			if _, err := w.users.Forget(t.Context(), account.User{ID: user, Username: name, Role: of.role}, 200); err != nil {
				t.Fatal(err)
			}
			for _, from := range []string{"policies WHERE updated_by = ?", "sweeps WHERE requested_by = ?"} {
				if n := w.number(t, "SELECT COUNT(*) FROM "+from, name); n != of.left {
					t.Errorf("%s: %d in %s, want %d", of.role, n, from, of.left)
				}
			}
		}
	})
}

// TestPurgeIsNotEarly: the transaction looks once more.
func TestPurgeIsNotEarly(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user, lives := w.user(t, "ada"), w.user(t, "bob")
		if _, err := w.delete(t.Context(), user, "ada"); err != nil {
			t.Fatal(err)
		}
		for _, id := range []idworker.ID{user, lives} {
			if err := w.users.Purge(t.Context(), id, time.Now().Add(-time.Hour), w.eventOf(audit.UserPurged, id)); err != nil {
				t.Fatal(err)
			}
		}
		if w.number(t, "SELECT COUNT(*) FROM users") != 2 || w.recorded(t, audit.UserPurged) != 0 {
			t.Error("purged")
		}
	})
}

// wantNowhere reads every column of every table.
func (w *world) wantNowhere(t *testing.T, name string, user idworker.ID) {
	t.Helper()
	tables := "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	if strings.Contains(t.Name(), "SQLite") {
		tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	var all []string
	if err := w.Gorm().Raw(tables).Scan(&all).Error; err != nil || len(all) < 15 {
		t.Fatal(all, err)
	}
	for _, table := range all {
		var rows []map[string]any
		if err := w.Gorm().Raw("SELECT * FROM " + table).Scan(&rows).Error; err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			for column, v := range row {
				text := fmt.Sprint(v)
				if b, ok := v.([]byte); ok {
					text = string(b)
				}
				if strings.Contains(text, name) || table != "audit_events" && strings.Contains(text, user.String()) {
					t.Errorf("%s.%s has %q", table, column, text)
				}
			}
		}
	}
}

// TestPurgeWritesInShortTransactions: an entry costs a statement, and all of a transaction have
// to end within tau, also on a slow database.
func TestPurgeWritesInShortTransactions(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "zebulon")
		me := audit.Actor{ID: user, Name: "zebulon", Via: audit.ViaAPI}
		events := make([]audit.Event, 150)
		for i := range events {
			events[i] = audit.Event{ID: w.ids.next(0), By: me, Need: audit.NeedsNothing, Action: audit.LoginBegan, Target: audit.AboutUser(user, me.Name)}
		}
		if err := (&sqlstore.Audit{DB: w.DB}).AppendAll(t.Context(), events); err != nil {
			t.Fatal(err)
		}
		spy := w.spy(t)
		if n, err := w.users.Forget(t.Context(), account.User{ID: user, Username: me.Name}, len(events)); err != nil || n != len(events) {
			t.Fatalf("%d, %v", n, err)
		}
		together := map[any]int{}
		for _, s := range spy.take() {
			if strings.HasPrefix(s.text, "UPDATE audit_events") {
				together[s.in]++
			}
		}
		if n := slices.Max(slices.Collect(maps.Values(together))); n > 20 || len(together) < 2*len(events)/20 {
			t.Errorf("%d rows in one transaction, %d transactions", n, len(together))
		}
	})
}

// TestPurgeGoesByIndexes: in a long record, what names a person is found by the name, and who
// is due by when.
func TestPurgeGoesByIndexes(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		logins := w.crowd(t, 3_000)
		w.run(t, "UPDATE users SET username = 'zebulon' WHERE id = ?", int64(logins[0]))
		if _, err := w.delete(t.Context(), logins[0], "zebulon"); err != nil {
			t.Fatal(err)
		}
		w.run(t, "INSERT INTO audit_events (id, actor_id, actor, via, action, target_kind, target_id, target, old_value, new_value) SELECT id, id, username, 'api', 'login.began', 'login', id + 1, username, x'', x'' FROM users")
		for shift := 1; shift <= 4; shift *= 2 { // most of it is about this very user, and has no name any more
			w.run(t, "INSERT INTO audit_events (id, actor_id, actor, via, action, target_kind, target_id, target, old_value, new_value) SELECT id + ?, ?, '', 'api', 'login.began', 'user', ?, '', x'', x'' FROM audit_events", shift<<8, int64(logins[0]), int64(logins[0]))
		}
		w.run(t, "UPDATE audit_events SET action = 'impersonation.began', target_kind = 'user', target_id = ? WHERE id = ?", int64(logins[0]), int64(logins[1])) // an admin acted for the user
		w.exec(t, map[migrations.Dialect]string{migrations.SQLite: "ANALYZE", migrations.MySQL: "ANALYZE TABLE audit_events, users"}[w.Dialect()])
		spy := w.spy(t)
		if n, err := w.users.Forget(t.Context(), account.User{ID: logins[0], Username: "zebulon"}, 200); err != nil || n == 0 {
			t.Fatal(n, err)
		}
		_, asked := w.users.AskedBefore(t.Context(), start, 100)
		_, deleted := w.users.DeletedBefore(t.Context(), start, 100)
		if err := errors.Join(asked, deleted); err != nil {
			t.Fatal(err)
		}
		looked := 0
		for _, s := range spy.take() {
			want := ""
			switch {
			case strings.Contains(s.text, "WHERE actor = "):
				want = "audit_events_actor_name"
			case strings.Contains(s.text, "WHERE target = "):
				want = "audit_events_target_name"
			case strings.Contains(s.text, "WHERE target_id = "):
				want = "audit_events_target"
			case strings.Contains(s.text, "WHERE action = "):
				want = "audit_events_action"
			case strings.Contains(s.text, "deleted_at < "):
				want = "users_deleted_at"
			case strings.Contains(s.text, "deletion_asked_at < "):
				want = "users_deletion_asked_at"
			default:
				continue // a row by its key, or a small table
			}
			if looked++; !strings.Contains(strings.Join(w.searches(t, s), " "), want) {
				t.Errorf("%.120s does not go by %s", s.text, want)
			}
		}
		if looked != 7 {
			t.Errorf("%d statements looked at", looked)
		}
	})
}

// TestExportsAreCountedOneAfterTheOther: of any number at once, so many are on record.
func TestExportsAreCountedOneAfterTheOther(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user, other := w.user(t, "ada"), &sqlstore.Users{DB: open(t, w.options)}
		var done atomic.Int64
		atOnce(12, func(i int) {
			on := []*sqlstore.Users{w.users, other}[i%2]
			full, err := on.RecordExport(t.Context(), w.eventOf(audit.DataExported, user), time.Time{}, 5)
			switch {
			case err != nil && !tooLate(err):
				t.Error(err)
			case err == nil && full == 0:
				done.Add(1)
			}
		})
		if n := w.recorded(t, audit.DataExported); n > 5 || int64(n) < done.Load() {
			t.Errorf("%d on record, %d done", n, done.Load())
		}
		if full, err := w.users.RecordExport(t.Context(), w.eventOf(audit.DataExported, user), time.Now().Add(time.Hour), 5); err != nil || full != 0 {
			t.Errorf("after the hour: %v, %v", full, err)
		}
	})
}

// TestDeletedAgainAfterAnOldReleaseEnabled: the previous release finds a deleted account, and
// can enable it; to delete again then closes it again, on record.
func TestDeletedAgainAfterAnOldReleaseEnabled(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		user := w.user(t, "ada")
		if _, err := w.delete(t.Context(), user, "ada"); err != nil {
			t.Fatal(err)
		}
		deleted := w.number(t, "SELECT deleted_at FROM users WHERE id = ?", int64(user)) - 1000
		w.run(t, "UPDATE users SET disabled_at = NULL, deleted_at = NULL, password_hash = '$x' WHERE id = ?", int64(user)) // it does not look at deleted_at
		o := w.opening(user)
		o.PasswordVersion = 2
		if _, err := w.login(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		w.run(t, "UPDATE users SET deleted_at = ? WHERE id = ?", deleted, int64(user))
		if ended, err := w.delete(t.Context(), user, "ada"); err != nil || len(ended) != 1 || ended[0].Before {
			t.Errorf("%+v, %v", ended, err)
		}
		w.wantDeleted(t, user)
		if again := w.number(t, "SELECT deleted_at FROM users WHERE id = ?", int64(user)); again <= deleted || w.recorded(t, audit.UserDeleted) != 2 {
			t.Error("it counts from the first time")
		}
	})
}
