package sqlstore_test

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

var (
	sealedOne = bytes.Repeat([]byte{1}, 57)
	sealedTwo = bytes.Repeat([]byte{2}, 57)
	twoCodes  = bytes.Repeat([]byte{3}, 64)
	oneCode   = twoCodes[:32]
)

func (w *world) factors() *sqlstore.SecondFactors { return &sqlstore.SecondFactors{DB: w.DB} }

func (w *world) aboutFactor(user idworker.ID, action audit.Action) audit.Event {
	return audit.Event{ID: w.ids.next(0), By: shell, Action: action, Target: audit.Target{Kind: "user", ID: user}}
}

// confirmed gives a user a factor whose last step is 100, which makes the
// password's version 2.
func (w *world) confirmed(t *testing.T, user idworker.ID) {
	t.Helper()
	s := w.factors()
	yes(t, "enrol")(s.Begin(t.Context(), shell, user, sealedOne))
	f := secondfactor.Factor{At: start, Step: 100, Recovery: twoCodes}
	yes(t, "confirm")(s.Confirm(t.Context(), user, sealedOne, f, w.aboutFactor(user, audit.SecondFactorEnrolled)))
}

func yes(t *testing.T, what string) func(bool, error) {
	return func(ok bool, err error) {
		t.Helper()
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v; want true", what, ok, err)
		}
	}
}

func no(t *testing.T, what string) func(bool, error) {
	return func(ok bool, err error) {
		t.Helper()
		if err != nil || ok {
			t.Fatalf("%s: %v, %v; want false", what, ok, err)
		}
	}
}

func TestAFactorIsKeptAndForgotten(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx, s, user := t.Context(), w.factors(), w.user(t, "ada")
		if f, err := s.Factor(ctx, user); err != nil || f.Sealed != nil || !f.At.IsZero() {
			t.Errorf("at first: %+v, %v", f, err)
		}
		if _, err := s.Factor(ctx, 12345); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("of nobody: %v", err)
		}
		no(t, "a step before it counts")(s.UseStep(ctx, user, nil, 5))
		yes(t, "enrol")(s.Begin(ctx, shell, user, sealedTwo))
		if u, err := w.users.ByID(ctx, user); err != nil || u.HasSecondFactor() {
			t.Errorf("it counts before it was confirmed: %v", err)
		}
		no(t, "confirm another secret")(s.Confirm(ctx, user, sealedOne, secondfactor.Factor{At: start}, w.aboutFactor(user, audit.SecondFactorEnrolled)))
		w.confirmed(t, user)
		no(t, "enrol beside one that counts")(s.Begin(ctx, shell, user, sealedTwo))
		no(t, "confirm twice")(s.Confirm(ctx, user, sealedOne, secondfactor.Factor{At: start}, w.aboutFactor(user, audit.SecondFactorEnrolled)))
		f, err := s.Factor(ctx, user)
		if err != nil || !bytes.Equal(f.Sealed, sealedOne) || !f.At.Equal(start) || f.Step != 100 || !bytes.Equal(f.Recovery, twoCodes) {
			t.Errorf("kept: %+v, %v", f, err)
		}
		u, err := w.users.ByID(ctx, user)
		if err != nil || !u.SecondFactorAt.Equal(start) || u.PasswordVersion != 2 {
			t.Errorf("user: %v since %v, version %d", err, u.SecondFactorAt, u.PasswordVersion)
		}
		if has, err := s.Any(ctx); err != nil || !has {
			t.Errorf("Any = %v, %v", has, err)
		}
		no(t, "removed beside another version")(s.Remove(ctx, user, 1, w.aboutFactor(user, audit.SecondFactorRemoved)))
		yes(t, "removed")(s.Remove(ctx, user, 2, w.aboutFactor(user, audit.SecondFactorRemoved)))
		no(t, "removed twice")(s.Remove(ctx, user, 3, w.aboutFactor(user, audit.SecondFactorRemoved)))
		if f, err := s.Factor(ctx, user); err != nil || f.Sealed != nil || f.Recovery != nil || f.Step != 0 || !f.At.IsZero() {
			t.Errorf("after the removal: %+v, %v", f, err)
		}
		var actions []string
		if err := w.Gorm().Raw("SELECT action FROM audit_events ORDER BY id").Scan(&actions).Error; err != nil || len(actions) != 2 {
			t.Errorf("events: %v, %v; want one for each change that was made", actions, err)
		}
	})
}

// Of a dozen uses of one code at the same time one wins, whatever the database.
// More would queue for one row, and the last be given up on a busy machine.
func TestOfManyUsesOfOneCodeTheDatabaseLetsOneWin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, user := w.factors(), w.user(t, "ada")
		w.confirmed(t, user)
		for name, use := range map[string]func() (bool, error){
			"app": func() (bool, error) { return s.UseStep(t.Context(), user, sealedOne, 101) },
			"recovery": func() (bool, error) {
				return s.UseRecovery(t.Context(), user, twoCodes, oneCode, w.aboutFactor(user, audit.RecoveryCodeUsed))
			},
		} {
			var won atomic.Int64
			atOnce(12, func(int) {
				ok, err := use()
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if ok {
					won.Add(1)
				}
			})
			if n := won.Load(); n != 1 {
				t.Errorf("%s: %d of 12 won", name, n)
			}
		}
		no(t, "an earlier step")(s.UseStep(t.Context(), user, sealedOne, 100))
		no(t, "a later step of another secret")(s.UseStep(t.Context(), user, sealedTwo, 200))
		yes(t, "the last recovery code")(s.UseRecovery(t.Context(), user, oneCode, nil, w.aboutFactor(user, audit.RecoveryCodeUsed)))
		if f, err := s.Factor(t.Context(), user); err != nil || len(f.Recovery) != 0 || f.Step != 101 {
			t.Errorf("left: %d bytes, step %d, %v", len(f.Recovery), f.Step, err)
		}
	})
}

// A login whose password was checked before the factor counted does not begin
// after, and a change that was allowed beside the factor does not outlast it.
func TestNothingCheckedBeforeAFactorChangesIsGoodAfter(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		opening := w.opening(user) // version 1
		w.confirmed(t, user)
		if _, err := w.login(t.Context(), opening); !errors.Is(err, account.ErrStale) {
			t.Errorf("a login with the password alone: %v, want ErrStale", err)
		}
		yes(t, "removed")(w.factors().Remove(t.Context(), user, 2, w.aboutFactor(user, audit.SecondFactorRemoved)))
		if _, err := w.newPassword(t.Context(), user, 2, "$short"); !errors.Is(err, account.ErrStale) {
			t.Errorf("a change of before the removal: %v, want ErrStale", err)
		}
	})
}

// TestProofOfBeforeAFactorIsNone in any other login than the one that added or removed the
// factor: the code was not shown there.
func TestProofOfBeforeAFactorIsNone(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		user := w.admin(t, "ada")
		all := []session.Session{w.on(t, user, "phone", "").Session, w.on(t, user, "web", "").Session, w.on(t, user, "tablet", "").Session}
		proven := func(after string, want ...bool) {
			t.Helper()
			for i, s := range all {
				if err := w.makes(t, acts(s), audit.NeedsProof); (err == nil) != want[i] || err != nil && !errors.Is(err, audit.ErrUnproven) {
					t.Errorf("login %d, %s: %v", i, after, err)
				}
			}
		}
		proven("at first", true, true, true)
		about := func(i int, action audit.Action) audit.Event {
			e := w.aboutFactor(user, action)
			e.By, e.Need = acts(all[i]), audit.NeedsLogin
			return e
		}
		yes(t, "begun")(w.factors().Begin(t.Context(), acts(all[1]), user, sealedOne))
		no(t, "another secret")(w.factors().Confirm(t.Context(), user, sealedTwo, secondfactor.Factor{At: start}, about(1, audit.SecondFactorEnrolled)))
		proven("where nothing was added", true, true, true)
		yes(t, "added")(w.factors().Confirm(t.Context(), user, sealedOne, secondfactor.Factor{At: start}, about(1, audit.SecondFactorEnrolled)))
		proven("added by the second", false, true, false)
		for i := range all {
			if err := w.sessions.Prove(t.Context(), 2, about(i, audit.Reauthenticated)); err != nil {
				t.Fatal(err)
			}
		}
		yes(t, "removed")(w.factors().Remove(t.Context(), user, 2, about(0, audit.SecondFactorRemoved)))
		proven("removed by the first", true, false, false)
	})
}

// TestNewPasswordEndsAnEnrolment that has not been confirmed: the secret was given out for the
// password of before.
func TestNewPasswordEndsAnEnrolment(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for name, change := range map[string]func(idworker.ID) error{
			"ada": func(user idworker.ID) error { _, err := w.useAt(t, w.reset(t, user), 1, "$new", start); return err },
			"bob": func(user idworker.ID) error {
				_, err := w.newPassword(t.Context(), user, 1, "$new")
				return err
			},
		} {
			user := w.user(t, name)
			yes(t, "begun")(w.factors().Begin(t.Context(), shell, user, sealedOne))
			if err := change(user); err != nil {
				t.Fatal(err)
			}
			no(t, "confirmed")(w.factors().Confirm(t.Context(), user, sealedOne, secondfactor.Factor{At: start}, w.aboutFactor(user, audit.SecondFactorEnrolled)))
		}
	})
}

func TestRemovalByAnAdminEndsTheLogin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		s := w.begin(t, user)
		w.confirmed(t, user)
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || !got.Alive() {
			t.Errorf("the login that added the factor: %v, %v; want it alive", got.Ended, err)
		}
		if _, err := w.factors().RemoveAndEnd(t.Context(), user, 1, w.aboutFactor(user, audit.SecondFactorRemoved)); !errors.Is(err, account.ErrStale) {
			t.Errorf("with another version: %v, want ErrStale", err)
		}
		ended, err := w.factors().RemoveAndEnd(t.Context(), user, 2, w.aboutFactor(user, audit.SecondFactorRemoved))
		if err != nil || len(ended) != 1 || ended[0].ID != s.ID || ended[0].Ended != session.Revoked {
			t.Errorf("ended %+v, %v; want the login, revoked", ended, err)
		}
		if u, err := w.users.ByID(t.Context(), user); err != nil || u.HasSecondFactor() {
			t.Errorf("the factor is left: %v", err)
		}
	})
}

// Who gets a new password by a one-time link still needs the second factor.
func TestResetLeavesTheSecondFactor(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		w.confirmed(t, user)
		r := w.reset(t, user)
		if _, err := w.useAt(t, r, 2, "$new", start); err != nil {
			t.Fatal(err)
		}
		u, err := w.users.ByID(t.Context(), user)
		if err != nil || !u.HasSecondFactor() || u.PasswordHash.Reveal() != "$new" {
			t.Errorf("a factor %t, %v", u.HasSecondFactor(), err)
		}
		if f, err := w.factors().Factor(t.Context(), user); err != nil || !bytes.Equal(f.Sealed, sealedOne) || !bytes.Equal(f.Recovery, twoCodes) {
			t.Errorf("kept %+v, %v", f, err)
		}
	})
}
