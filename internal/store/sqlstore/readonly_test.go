//go:build unix

package sqlstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// TestReadOnlyServerRefusesNoRight: an old primary that was set to read only does not know the
// login, the link and the name that the new one has acknowledged since. databases.md: "A read-only
// server decides nothing". The token itself is not refused; what acts by it is.
func TestReadOnlyServerRefusesNoRight(t *testing.T) {
	m := testenv.OwnMySQL(t)
	w := newWorld(t, onServer(t, "root@tcp("+m.Addr+")/"+m.Name))
	ada := w.begin(t, w.user(t, "ada"))
	old := open(t, w.ordinary(t))
	users, sessions := &sqlstore.Users{DB: old}, &sqlstore.Sessions{DB: old}
	fresh := ada // the login that began on the new primary
	fresh.ID = w.ids.next(0)
	run(t, m.DB(), "SET GLOBAL read_only = ON")
	defer run(t, m.DB(), "SET GLOBAL read_only = OFF")
	if _, err := sessions.Get(t.Context(), fresh.ID, session.Hash{}); !errors.Is(err, sqlstore.ErrReadOnly) {
		t.Fatalf("the read of a token: %v", err)
	}
	_, wrong := errors.AsType[*flakepass.Refusal](users.Authorize(t.Context(), acts(fresh), audit.NeedsLogin))
	if wrong {
		t.Errorf("Authorize: 401, %v", users.Authorize(t.Context(), acts(fresh), audit.NeedsLogin))
	}
	err := sessions.Prove(t.Context(), 1, audit.Event{ID: w.ids.next(0), By: acts(fresh), Need: audit.NeedsLogin, Action: audit.Reauthenticated, Target: audit.AboutUser(ada.UserID, "ada")})
	if _, wrong := errors.AsType[*flakepass.Refusal](err); wrong {
		t.Errorf("a proof of password and code: 401, %v", err)
	}
	if _, _, err := users.ByReset(t.Context(), account.NewResetToken().Hash(), time.Now()); errors.Is(err, account.ErrReset) {
		t.Errorf("a one-time link that is not there yet is refused for good: %v", err)
	}
}

// TestReadOnlyServerKnowsOfNobodyThatThereIsNone: who was made on the new primary is no 404 on the old one.
func TestReadOnlyServerKnowsOfNobodyThatThereIsNone(t *testing.T) {
	m := testenv.OwnMySQL(t)
	w := newWorld(t, onServer(t, "root@tcp("+m.Addr+")/"+m.Name))
	users := &sqlstore.Users{DB: open(t, w.ordinary(t))}
	run(t, m.DB(), "SET GLOBAL read_only = ON")
	defer run(t, m.DB(), "SET GLOBAL read_only = OFF")
	people := &operator.Users{Known: users, Names: users}
	for _, q := range []operator.NameQuery{{ID: 7}, {Username: "ada"}, {Alias: "ada@example.org"}, {ExternalID: "7"}} {
		if _, err := people.Find(t.Context(), q); errors.Is(err, account.ErrNotFound) {
			t.Errorf("%+v: 404, %v", q, err)
		}
	}
}

// TestReadOnlyServerAnswersNothingToAct: nor does it say that there was nothing to do. The one in its
// place may have the link, the name or the login of which this one has not heard.
func TestReadOnlyServerAnswersNothingToAct(t *testing.T) {
	onSQLite(t, func(t *testing.T, w *world) {
		root := w.begin(t, w.admin(t, "root"))
		user := w.user(t, "ada")
		services := w.service(t, "billing")
		elsewhere := audit.Actor{ID: services.user, Key: w.ids.next(0), Name: "billing", Via: audit.ViaAPI} // the key was made there
		nobody := w.ids.next(0)
		w.SetReadOnly("1")
		event := func(by audit.Actor, need audit.Need) audit.Event {
			return audit.Event{ID: w.ids.next(0), By: by, Need: need, Action: audit.ResetWithdrawn, Target: audit.AboutUser(user, "ada")}
		}
		asItIs := func(u account.User) (account.User, []audit.Event, error) { return u, nil, nil }
		for name, act := range map[string]func() error{
			"a link to withdraw": func() error {
				return w.users.WithdrawReset(t.Context(), user, time.Now(), event(acts(root), audit.NeedsAdmin))
			},
			"a link that is not there": func() error {
				_, _, err := w.users.ByReset(t.Context(), account.NewResetToken().Hash(), time.Now())
				return err
			},
			"a right": func() error { return w.users.Authorize(t.Context(), acts(root), audit.NeedsAdmin) },
			"a name that stays": func() error {
				_, _, err := w.users.ChangeNames(t.Context(), acts(root), audit.NeedsAdmin, user, asItIs)
				return err
			},
			"a key of which it has not heard": func() error {
				_, _, err := w.users.ChangeNames(t.Context(), elsewhere, audit.NeedsService, user, asItIs)
				return err
			},
			"nobody to invite": func() error {
				return w.users.StartReset(t.Context(), account.Reset{UserID: nobody}, event(acts(root), audit.NeedsAdmin))
			},
			"a second factor":           func() error { _, err := (&sqlstore.SecondFactors{DB: w.DB}).Factor(t.Context(), user); return err },
			"a second factor of nobody": func() error { _, err := (&sqlstore.SecondFactors{DB: w.DB}).Factor(t.Context(), nobody); return err },
			"a login by name":           func() error { _, err := w.users.ByName(t.Context(), "ada"); return err },
			"a login by no name":        func() error { _, err := w.users.ByName(t.Context(), "bob"); return err },
		} {
			if err := act(); !errors.Is(err, sqlstore.ErrReadOnly) {
				t.Errorf("%s: %v; want that the server cannot decide", name, err)
			}
		}
	})
}
