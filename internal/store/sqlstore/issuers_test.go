//go:build unix

package sqlstore_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// resetBy starts a reset of user for an hour, which issuer makes.
func (w *world) resetBy(t testing.TB, issuer, user idworker.ID) account.Reset {
	t.Helper()
	e := w.eventOf(audit.ResetStarted, user)
	r := account.Reset{
		ID: e.ID, UserID: user, Hash: account.NewResetToken().Hash(), ExpiresAt: start.Add(time.Hour),
		Issuer: account.Issuer{ID: issuer, Name: "issuer"},
	}
	if err := w.users.StartReset(t.Context(), r, e); err != nil {
		t.Fatal(err)
	}
	return r
}

// dead fails the test unless a reset of the first password can no longer be found
// and used, and the password is as it was.
func (w *world) dead(t testing.TB, when string, r account.Reset) {
	t.Helper()
	_, _, err := w.users.ByReset(t.Context(), r.Hash, start)
	if !errors.Is(err, account.ErrReset) {
		t.Errorf("%s: ByReset: %v, want ErrReset", when, err)
	}
	if known, ok := errors.AsType[*account.RefusedError](err); !ok || known.UserID != r.UserID || known.Issuer != r.Issuer {
		t.Errorf("%s: ByReset: %+v, want an error about user %v and issuer %v", when, known, r.UserID, r.Issuer)
	}
	if _, err := w.useAt(t, r, w.row(t, r.UserID).Version, "$stolen", start); !errors.Is(err, account.ErrReset) {
		t.Errorf("%s: UseReset: %v, want ErrReset", when, err)
	}
	if row := w.row(t, r.UserID); row.PasswordHash != "$first" {
		t.Errorf("%s: the password was set: %q", when, row.PasswordHash)
	}
	if open, err := w.users.OpenResets(t.Context(), r.Issuer.ID, 0, 10, start); err != nil || len(open) != 0 {
		t.Errorf("%s: listed as open: %v, %v", when, open, err)
	}
}

// The record counts the refusal of a link of an admin among the events about admins, so ByReset says the role.
func TestRefusedLinkSaysTheRole(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for role, user := range map[account.Role]idworker.ID{account.RoleAdmin: w.admin(t, "ada"), account.RoleUser: w.user(t, "bob")} {
			_, _, err := w.users.ByReset(t.Context(), w.reset(t, user).Hash, start.Add(time.Hour))
			if known, ok := errors.AsType[*account.RefusedError](err); !ok || known.UserID != user || known.Role != role {
				t.Errorf("%s: %+v", role, known)
			}
		}
	})
}

// A thief who was an admin for a while, and made a link for another admin's
// account, does not become that admin with it after the account that the thief
// used is disabled and demoted and all logins have ended.
func TestLinkOfAFormerAdminIsDead(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		issuer, target := w.admin(t, "ada"), w.admin(t, "grace")
		r := w.resetBy(t, issuer, target)
		if _, err := w.users.Disable(t.Context(), issuer, start); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := w.users.Change(t.Context(), issuer, w.become(account.RoleUser)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.settings().EndAll(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		w.dead(t, "after all three", r)
	})
}

// Each of these alone ends the links that somebody gave out, also when it is undone
// at once, and also a link for the issuer's own account.
func TestLinkEndsWithItsIssuersRight(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		factors := &sqlstore.SecondFactors{DB: w.DB}
		role := func(id idworker.ID, role account.Role) error {
			_, _, _, err := w.users.Change(t.Context(), id, w.become(role))
			return err
		}
		enrol := func(id idworker.ID) error {
			_, err := factors.Begin(t.Context(), shell, id, []byte("sealed"))
			if err == nil {
				_, err = factors.Confirm(t.Context(), id, []byte("sealed"), secondfactor.Factor{At: start}, w.eventOf(audit.SecondFactorEnrolled, id))
			}
			return err
		}
		for name, end := range map[string]func(issuer idworker.ID) error{
			"disabled": func(id idworker.ID) error { _, err := w.users.Disable(t.Context(), id, start); return err },
			"demoted":  func(id idworker.ID) error { return role(id, account.RoleUser) },
			"demoted and promoted": func(id idworker.ID) error {
				return errors.Join(role(id, account.RoleService), role(id, account.RoleAdmin))
			},
			"disabled and enabled": func(id idworker.ID) error {
				_, err := w.users.Disable(t.Context(), id, start)
				return errors.Join(err, w.users.Enable(t.Context(), id))
			},
			"password reset by another": func(id idworker.ID) error {
				_, err := w.users.ResetPassword(t.Context(), id, w.row(t, id).Version, account.NewPHC("$first"), w.eventOf(audit.PasswordReset, id))
				return err
			},
			"second factor added": enrol,
			"second factor removed by another": func(id idworker.ID) error {
				_, err := factors.RemoveAndEnd(t.Context(), id, w.row(t, id).Version, w.eventOf(audit.SecondFactorRemoved, id))
				return err
			},
			"logout of everybody": func(idworker.ID) error { _, err := w.settings().EndAll(t.Context(), time.UnixMilli(0)); return err },
		} {
			issuer := w.admin(t, "issuer "+name)
			if name == "second factor removed by another" {
				if err := enrol(issuer); err != nil {
					t.Fatal(err)
				}
			}
			// A link of the issuer's own account is over by its password, too.
			theirs, own := w.resetBy(t, issuer, w.user(t, "target "+name)), w.resetBy(t, issuer, issuer)
			if _, who, err := w.users.ByReset(t.Context(), theirs.Hash, start); err != nil || who != theirs.Issuer {
				t.Fatalf("%s: before: %v, %v", name, who, err)
			}
			if err := end(issuer); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			w.dead(t, name, theirs)
			if name != "disabled" { // then nobody sets that password anyway
				w.dead(t, name+", own", own)
			}
		}
	})
}

// TestLinkEndsWhenTheRoleOfItsAccountChanges: who may give a link out was asked for
// the role that the account had then. In the list it is not either, and a login whose
// password was shown under the role of before does not open.
func TestLinkEndsWhenTheRoleOfItsAccountChanges(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		root := w.admin(t, "root")
		for _, role := range []account.Role{account.RoleAdmin, account.RoleService} {
			target := w.user(t, "target "+string(role))
			for name, r := range map[string]account.Reset{"of an admin": w.resetBy(t, root, target), "of the shell": w.resetBy(t, 0, target)} {
				r = w.resetBy(t, r.Issuer.ID, target) // the only one that counts is the last
				if _, _, err := w.users.ByReset(t.Context(), r.Hash, start); err != nil {
					t.Fatal(err)
				}
				before := w.row(t, target).Version
				if _, _, _, err := w.users.Change(t.Context(), target, w.become(role)); err != nil {
					t.Fatal(err)
				}
				w.dead(t, name+", now "+string(role), r)
				if now := w.row(t, target).Version; now <= before {
					t.Errorf("%s: version %d after %d", name, now, before)
				}
				if _, _, _, err := w.users.Change(t.Context(), target, w.become(account.RoleUser)); err != nil {
					t.Fatal(err)
				}
				w.dead(t, name+", "+string(role)+" and back", r)
			}
		}
		// To disable and enable is no change of the role.
		target := w.user(t, "target")
		r := w.resetBy(t, root, target)
		if _, err := w.users.Disable(t.Context(), target, start); err != nil {
			t.Fatal(err)
		}
		if err := w.users.Enable(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.users.ByReset(t.Context(), r.Hash, start); err != nil {
			t.Errorf("after the account was disabled and enabled: %v", err)
		}
	})
}

// With the clock of the database stopped, what changes within a millisecond is
// told apart.
func TestLinkEndsThoughTheClockStands(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.SetNow(start)
		w.admin(t, "root")
		issuer := w.user(t, "ada")
		for _, role := range []account.Role{account.RoleAdmin, account.RoleService, account.RoleAdmin} {
			if _, _, _, err := w.users.Change(t.Context(), issuer, w.become(role)); err != nil {
				t.Fatal(err)
			}
			if role == account.RoleAdmin {
				w.resetBy(t, issuer, issuer)
			}
		}
		r := w.resetBy(t, issuer, w.user(t, "grace"))
		for _, role := range []account.Role{account.RoleUser, account.RoleAdmin} {
			if _, _, _, err := w.users.Change(t.Context(), issuer, w.become(role)); err != nil {
				t.Fatal(err)
			}
		}
		w.dead(t, "demoted and promoted", r)
		for range 2 { // the second does not raise the floor
			r = w.resetBy(t, 0, w.user(t, "hopper"+w.ids.next(0).String()))
			if _, err := w.settings().EndAll(t.Context(), time.UnixMilli(0)); err != nil {
				t.Fatal(err)
			}
			if _, err := w.useAt(t, r, 1, "$stolen", start); !errors.Is(err, account.ErrReset) {
				t.Errorf("after the end of all logins: %v, want ErrReset", err)
			}
		}
	})
}

// What does not touch the issuer's right leaves the links: people go home.
func TestLinkOutlivesItsIssuersLogin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		issuer, target := w.admin(t, "ada"), w.user(t, "grace")
		login := w.begin(t, issuer)
		r := w.resetBy(t, issuer, target)
		if _, err := w.sessions.End(t.Context(), logout(login)); err != nil {
			t.Fatal(err)
		}
		w.begin(t, issuer)
		if err := w.users.Rehash(t.Context(), issuer, 1, account.NewPHC("$again")); err != nil {
			t.Fatal(err)
		}
		if _, err := w.useAt(t, r, 1, "$theirs", start); err != nil {
			t.Errorf("after a logout and a login of the issuer: %v", err)
		}
		own := w.resetBy(t, issuer, issuer)
		if _, err := w.useAt(t, own, 1, "$mine", start); err != nil {
			t.Errorf("for the issuer's own account: %v", err)
		}
	})
}

// TestLinkOutlivesItsIssuersName: a rename takes the open links along, each with what
// still ends it, and revives none.
func TestLinkOutlivesItsIssuersName(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		issuer, other := w.admin(t, "ada"), w.admin(t, "grace")
		demote := func() {
			t.Helper()
			for _, role := range []account.Role{account.RoleUser, account.RoleAdmin} {
				if _, _, _, err := w.users.Change(t.Context(), issuer, w.become(role)); err != nil {
					t.Fatal(err)
				}
			}
		}
		over := w.resetBy(t, issuer, w.user(t, "over"))
		demote()
		later, own := w.resetBy(t, issuer, w.user(t, "later")), w.resetBy(t, issuer, issuer)
		used, theirs := w.resetBy(t, issuer, w.user(t, "used")), w.resetBy(t, other, w.user(t, "theirs"))
		w.change(t, issuer, renamed("ada1"))
		w.change(t, issuer, renamed("ada2"))
		if open, err := w.users.OpenResets(t.Context(), issuer, 0, 10, start); err != nil || len(open) != 3 {
			t.Errorf("listed as open after the rename: %+v, %v; want 3", open, err)
		}
		for _, r := range []account.Reset{used, own, theirs} {
			if _, err := w.useAt(t, r, w.row(t, r.UserID).Version, "$theirs", start); err != nil {
				t.Errorf("of %v by %v: %v", r.UserID, r.Issuer.ID, err)
			}
		}
		demote()
		w.change(t, issuer, renamed("ada3"))
		w.dead(t, "of before the first demotion", over)
		w.dead(t, "renamed, and then demoted", later)
	})
}

// A rename of the issuer locks that user and then the links, the use of a link does it the other
// way about: at the same moment both are done, and a link that is made then works.
func TestRenameBesideItsLinks(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		issuer := w.admin(t, "ada")
		login := w.begin(t, issuer)
		for round := range 6 {
			name := strconv.Itoa(round)
			user, next := w.user(t, "user"+name), w.user(t, "next"+name)
			used := w.resetBy(t, issuer, user)
			e := w.eventOf(audit.ResetStarted, next)
			e.By, e.Need = acts(login), audit.NeedsAdmin // which keeps the issuer's row as it is
			made := account.Reset{
				ID: e.ID, UserID: next, Hash: account.NewResetToken().Hash(), ExpiresAt: start.Add(time.Hour), Issuer: account.Issuer{ID: issuer, Name: "issuer"},
			}
			errs := make([]error, 4)
			atOnce(len(errs), func(i int) {
				switch i {
				case 0, 1:
					_, errs[i] = w.names().ChangeNames(t.Context(), shell, issuer, renamed("ada"+name+strconv.Itoa(i)))
				case 2:
					_, errs[i] = w.useAt(t, used, 1, "$reset", start)
				case 3:
					errs[i] = w.users.StartReset(t.Context(), made, e)
				}
			})
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("%d: %v", round, err)
			}
			if _, err := w.useAt(t, made, 1, "$theirs", start); err != nil {
				t.Errorf("%d: the link that was made meanwhile: %v", round, err)
			}
		}
		w.sound(t)
	})
}

// The previous release writes a link without a word of who made it, and puts one in
// the place of another: neither works, and nobody is named who did not make it.
func TestLinkOfThePreviousReleaseDoesNotWork(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		issuer, user := w.admin(t, "ada"), w.user(t, "grace")
		for _, before := range []bool{false, true} {
			if before {
				w.resetBy(t, issuer, user)
			}
			r := account.Reset{UserID: user, Hash: account.NewResetToken().Hash()}
			statement := "INSERT INTO password_resets (user_id, token_hash, password_version, expires_at) VALUES (?, ?, 1, ?)"
			if before {
				statement = "UPDATE password_resets SET user_id = ?, token_hash = ?, password_version = 1, expires_at = ?"
			}
			if _, err := w.SQL().ExecContext(t.Context(), statement, int64(user), r.Hash[:], start.Add(time.Hour).UnixMilli()); err != nil {
				t.Fatal(err)
			}
			w.dead(t, "of the previous release", r)
		}
	})
}

// Open links are listed by who made them, newest first, and withdrawn together;
// those of others are left.
func TestOpenResetsAreListedAndWithdrawnByIssuer(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada, grace := w.admin(t, "ada"), w.admin(t, "grace")
		var theirs []account.OpenReset
		for _, name := range []string{"a", "b", "c"} {
			user := w.user(t, name)
			r := w.resetBy(t, ada, user)
			theirs = append([]account.OpenReset{{ID: r.ID, UserID: user, Username: name, Issuer: r.Issuer, ExpiresAt: r.ExpiresAt}}, theirs...)
		}
		other := w.resetBy(t, grace, w.user(t, "d"))
		shell := w.reset(t, w.user(t, "e"))
		over := w.resetBy(t, ada, w.user(t, "f"))
		if err := w.users.WithdrawReset(t.Context(), over.UserID, start, w.eventOf(audit.ResetWithdrawn, over.UserID)); err != nil {
			t.Fatal(err)
		}

		list := func(issuer, before idworker.ID, limit int) []account.OpenReset {
			open, err := w.users.OpenResets(t.Context(), issuer, before, limit, start)
			if err != nil {
				t.Fatal(err)
			}
			return open
		}
		if diff := cmp.Diff(list(ada, 0, 10), theirs); diff != "" {
			t.Errorf("of one issuer: -got +want\n%s", diff)
		}
		if diff := cmp.Diff(list(ada, theirs[0].ID, 1), theirs[1:2]); diff != "" {
			t.Errorf("the second page: -got +want\n%s", diff)
		}
		if all := list(0, 0, 10); len(all) != 5 || all[0].ID != shell.ID || all[1].ID != other.ID {
			t.Errorf("of all: %+v", all)
		}
		if late, err := w.users.OpenResets(t.Context(), ada, 0, 10, start.Add(time.Hour)); err != nil || len(late) != 0 {
			t.Errorf("expired: %v, %v", late, err)
		}

		replaced := w.resetBy(t, ada, theirs[0].UserID) // after it was listed
		var events []audit.Event
		for _, r := range theirs {
			events = append(events, w.eventOf(audit.ResetWithdrawn, r.UserID))
		}
		if n, err := w.users.WithdrawResets(t.Context(), theirs, events); err != nil || n != 2 {
			t.Errorf("withdrawn: %d, %v; want 2", n, err)
		}
		if left := list(0, 0, 10); len(left) != 3 || left[0].ID != replaced.ID {
			t.Errorf("left: %+v", left)
		}
		if n := w.recorded(t, audit.ResetWithdrawn); n != 3 {
			t.Errorf("%d withdrawals are recorded, want 3", n)
		}
		broken := w.eventOf(audit.Action(strings.Repeat("x", 49)), other.UserID) // longer than the schema has room for
		if _, err := w.users.WithdrawResets(t.Context(), []account.OpenReset{{ID: other.ID, UserID: other.UserID}}, []audit.Event{broken}); err == nil {
			t.Error("an event that cannot be written: no error")
		}
		if _, _, err := w.users.ByReset(t.Context(), other.Hash, start); err != nil {
			t.Errorf("without its event: %v", err)
		}
	})
}
