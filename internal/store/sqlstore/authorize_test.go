//go:build unix

package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// acts is the admin of that login as who acts.
func acts(s session.Session) audit.Actor {
	return audit.Actor{ID: s.UserID, Session: s.ID, Name: s.Username, Via: audit.ViaAPI}
}

// makes adds a user for by, who needs that for it.
func (w *world) makes(t testing.TB, by audit.Actor, need audit.Need) error {
	t.Helper()
	id := w.ids.next(0)
	u := account.User{ID: id, Username: "u" + id.String(), Role: account.RoleUser, PasswordHash: account.NewPHC("$first"), PasswordVersion: 1}
	e := audit.Event{ID: w.ids.next(0), By: by, Need: need, Action: audit.UserCreated, Target: audit.Target{Kind: "user", ID: id}}
	err := w.users.Create(t.Context(), u, e)
	_, missing := w.users.ByID(t.Context(), id)
	if (err == nil) != (missing == nil) {
		t.Errorf("told %v, and looking for the user says %v", err, missing)
	}
	return err
}

func (w *world) run(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := w.SQL().ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// TestWhoMayWhat is what an actor needs, one need after the other, and what they are
// told who have not got it.
func TestWhoMayWhat(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		unsaid := audit.Need(0)
		all := []audit.Need{audit.NeedsLogin, audit.NeedsService, audit.NeedsAdmin, audit.NeedsProof}
		login := func(role account.Role) session.Session {
			user := w.user(t, fmt.Sprint(role, w.ids.next(0)))
			w.run(t, "UPDATE users SET role = ? WHERE id = ?", string(role), int64(user))
			return w.begin(t, user)
		}
		for role, may := range map[account.Role]int{account.RoleUser: 1, account.RoleService: 2, account.RoleAdmin: 4} {
			s := login(role)
			for i, need := range all {
				if err := w.makes(t, acts(s), need); (err == nil) != (i < may) || i >= may && !errors.Is(err, audit.ErrRole) {
					t.Errorf("%s, need %d: %v", role, need, err)
				}
				// What changes nothing is refused alike.
				if err := w.users.Authorize(t.Context(), acts(s), need); (err == nil) != (i < may) || i >= may && !errors.Is(err, audit.ErrRole) {
					t.Errorf("%s, need %d, no change: %v", role, need, err)
				}
			}
			if err := w.makes(t, acts(s), audit.NeedsNothing); err != nil {
				t.Errorf("%s needs nothing: %v", role, err)
			}
		}

		s := login(account.RoleAdmin)
		for what, by := range map[string]audit.Actor{
			"no login": {ID: s.UserID, Via: audit.ViaAPI}, "nobody, through a door": {Via: audit.ViaAPI}, "nobody at all": {}, "a stranger's login": {Session: s.ID, Via: audit.ViaAPI},
		} {
			if err := w.makes(t, by, audit.NeedsLogin); err == nil {
				t.Errorf("%s has made somebody", what)
			}
		}
		if err := w.makes(t, acts(s), unsaid); err == nil {
			t.Error("a need that nobody has said lets a user act")
		}
		if err := w.makes(t, shell, unsaid); err != nil {
			t.Errorf("the shell: %v", err)
		}
		gone := acts(s)
		gone.ID = 12345
		if err := w.makes(t, gone, audit.NeedsLogin); !errors.Is(err, flakepass.ErrRevoked) {
			t.Errorf("an account that is not there: %v", err)
		}
	})
}

// TestEndedLoginsMakeNothing: whatever has ended a login, whoever acts by it is
// told as its token would be.
func TestEndedLoginsMakeNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		type way struct {
			end  func(s session.Session) error
			want error
		}
		for name, way := range map[string]way{
			"logged out": {func(s session.Session) error { _, err := w.sessions.End(t.Context(), logout(s)); return err }, flakepass.ErrLoggedOut},
			"disabled":   {func(s session.Session) error { _, err := w.users.Disable(t.Context(), s.UserID, start); return err }, flakepass.ErrAccountDisabled},
			"demoted": {func(s session.Session) error {
				_, _, _, err := w.users.Change(t.Context(), s.UserID, w.become(account.RoleUser))
				return err
			}, flakepass.ErrRevoked},
			"replaced":       {func(s session.Session) error { w.begin(t, s.UserID); return nil }, flakepass.ErrReplaced},
			"replaced twice": {func(s session.Session) error { w.begin(t, s.UserID); w.begin(t, s.UserID); return nil }, flakepass.ErrReplaced},
			"everybody ended": {func(session.Session) error {
				_, err := w.settings().EndAll(t.Context(), time.Now().Add(time.Hour))
				return err
			}, flakepass.ErrRevoked},
			"disabled, row only": {func(s session.Session) error {
				w.run(t, "UPDATE users SET disabled_at = 1 WHERE id = ?", int64(s.UserID))
				return nil
			}, flakepass.ErrAccountDisabled},
			"demoted, row only": {func(s session.Session) error {
				w.run(t, "UPDATE users SET role = 'user' WHERE id = ?", int64(s.UserID))
				return nil
			}, audit.ErrRole},
		} {
			w.admin(t, fmt.Sprint("other", w.ids.next(0))) // who stays
			s := w.begin(t, w.admin(t, fmt.Sprint("admin", w.ids.next(0))))
			if err := w.makes(t, acts(s), audit.NeedsAdmin); err != nil {
				t.Fatalf("%s: before: %v", name, err)
			}
			if err := way.end(s); err != nil {
				t.Fatal(err)
			}
			err := w.makes(t, acts(s), audit.NeedsAdmin)
			if !errors.Is(err, way.want) {
				t.Errorf("%s: %v, want %v", name, err, way.want)
			}
			// The record says whose login it was, as where the token is checked.
			if known, ok := errors.AsType[*session.RefusedError](err); !errors.Is(way.want, audit.ErrRole) && (!ok || known.ID != s.ID || known.UserID != s.UserID || known.Username != s.Username || known.Forged) {
				t.Errorf("%s: %+v is not about %v", name, err, s.ID)
			}
		}
	})
}

// TestProofIsOfOneLoginAndTenMinutes: it counts for the login in which password and
// code were shown, by the database's clock, and for no other.
func TestProofIsOfOneLoginAndTenMinutes(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		now := time.Now().Truncate(time.Millisecond)
		w.SetNow(now)
		user := w.admin(t, "ada")
		s := w.begin(t, user)
		at := func(after time.Duration, want error) {
			t.Helper()
			w.SetNow(now.Add(after))
			if err := w.makes(t, acts(s), audit.NeedsProof); !errors.Is(err, want) {
				t.Errorf("after %v: %v, want %v", after, err, want)
			}
			if err := w.makes(t, acts(s), audit.NeedsAdmin); err != nil {
				t.Errorf("after %v, without a proof: %v", after, err)
			}
		}
		prove := func(version int64) error {
			e := audit.Event{ID: w.ids.next(0), By: acts(s), Need: audit.NeedsLogin, Action: audit.Reauthenticated}
			return w.sessions.Prove(t.Context(), version, e)
		}
		at(0, nil)
		at(audit.ProofLife, nil)
		at(audit.ProofLife+time.Millisecond, audit.ErrUnproven)
		at(-time.Minute, audit.ErrUnproven) // the clock was ahead when it was noted

		later := time.Hour
		w.SetNow(now.Add(later))
		if err := prove(2); !errors.Is(err, account.ErrStale) {
			t.Errorf("of a password that is another by now: %v", err)
		}
		at(later, audit.ErrUnproven)
		if err := prove(1); err != nil {
			t.Fatal(err)
		}
		at(later+audit.ProofLife, nil)
		at(later+audit.ProofLife+time.Millisecond, audit.ErrUnproven)
		if got := w.events(t); !slices.Contains(got, audit.Reauthenticated) {
			t.Errorf("the record has %v", got)
		}

		// A release that knows no proofs begins the next login: what it leaves is the
		// proof of this one.
		if err := prove(1); err != nil {
			t.Fatal(err)
		}
		old := s.ID
		s.ID = w.ids.next(old)
		w.run(t, "UPDATE users SET token_id = ? WHERE id = ?", int64(s.ID), int64(user))
		at(later+audit.ProofLife, audit.ErrUnproven)
		if _, err := w.sessions.End(t.Context(), logout(session.Session{ID: s.ID, Hash: s.Hash})); err != nil {
			t.Fatal(err)
		}
		if err := prove(1); !errors.Is(err, flakepass.ErrLoggedOut) {
			t.Errorf("a proof in a login that is over: %v", err)
		}
	})
}

// TestOfTwoWhoDisableEachOtherOneWins: each looks at the other's row while it holds
// its own. One of them is disabled, and the one who is has changed nothing.
func TestOfTwoWhoDisableEachOtherOneWins(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root") // so that neither is the last one
		for round := range 10 {
			var logins [2]session.Session
			for i := range logins {
				logins[i] = w.begin(t, w.admin(t, fmt.Sprintf("admin%d-%d", round, i)))
			}
			var errs [2]error
			atOnce(2, func(i int) {
				disable := func(u account.User) (account.User, []audit.Event, error) {
					u.DisabledAt = start
					return u, []audit.Event{{ID: w.ids.next(0), By: acts(logins[i]), Need: audit.NeedsAdmin, Action: audit.UserDisabled}}, nil
				}
				_, _, _, errs[i] = w.users.Change(t.Context(), logins[1-i].UserID, disable)
			})
			won := slices.IndexFunc(errs[:], func(err error) bool { return err == nil })
			if won < 0 || !errors.Is(errs[1-won], flakepass.ErrAccountDisabled) {
				t.Fatalf("round %d: %v", round, errs)
			}
			for i, s := range logins {
				if u, err := w.users.ByID(t.Context(), s.UserID); err != nil || u.Disabled() != (i != won) {
					t.Errorf("round %d: of %d, who has won: %v, disabled: %v, %v", round, i, i == won, u.Disabled(), err)
				}
			}
		}
	})
}

// TestWhoIsDemotedMakesNothingAfterwards: while somebody is disabled, with as many
// requests of theirs under way as there is room for, nothing is made once that was
// acknowledged. Each of those that were in time was before it.
func TestWhoIsDemotedMakesNothingAfterwards(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		for round := range 5 {
			s := w.begin(t, w.admin(t, fmt.Sprintf("admin%d", round)))
			var acknowledged int
			var failed atomic.Bool
			atOnce(5, func(i int) {
				if i == 0 {
					if _, err := w.users.Disable(t.Context(), s.UserID, start); err != nil {
						t.Error(err)
						failed.Store(true)
					}
					acknowledged = w.made(t, s.UserID)
					return
				}
				for !failed.Load() {
					if err := w.makes(t, acts(s), audit.NeedsProof); errors.Is(err, flakepass.ErrAccountDisabled) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
				}
			})
			if n := w.made(t, s.UserID); n != acknowledged {
				t.Errorf("round %d: %d were made before it was acknowledged, and %d in all", round, acknowledged, n)
			}
		}
	})
}

// made is how many users that one has made.
func (w *world) made(t testing.TB, actor idworker.ID) int {
	t.Helper()
	events, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Actor: actor, Action: audit.UserCreated, Limit: 100000})
	if err != nil {
		t.Error(err)
	}
	return len(events)
}

// TestNoEventWithoutItsPermit: a change that has asked about somebody else, or for
// less, cannot write its event.
func TestNoEventWithoutItsPermit(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other := w.begin(t, w.admin(t, "ada")), w.begin(t, w.admin(t, "bob"))
		again, noone, keyed := acts(s), acts(s), acts(s)
		again.Session++
		noone.ID++ // whose login it is not
		keyed.Key = 1
		event := func(by audit.Actor, need audit.Need) audit.Event {
			return audit.Event{ID: w.ids.next(0), By: by, Need: need, Action: audit.SweepRequested}
		}
		for what, err := range map[string]error{
			"of somebody else":           w.Record(acts(other), audit.NeedsProof, event(acts(s), audit.NeedsAdmin)),
			"of another login":           w.Record(again, audit.NeedsProof, event(acts(s), audit.NeedsAdmin)),
			"for another login":          w.Record(acts(s), audit.NeedsProof, event(again, audit.NeedsAdmin)),
			"for somebody else":          w.Record(acts(s), audit.NeedsProof, event(noone, audit.NeedsAdmin)),
			"for a key":                  w.Record(acts(s), audit.NeedsProof, event(keyed, audit.NeedsAdmin)),
			"for less":                   w.Record(acts(s), audit.NeedsAdmin, event(acts(s), audit.NeedsProof)),
			"without any":                w.Record(audit.Actor{}, 0, event(acts(s), audit.NeedsLogin)),
			"that says of no need":       w.Record(acts(s), audit.NeedsProof, event(acts(s), 0)),
			"of nobody, through a door":  w.Record(audit.Actor{Via: audit.ViaAPI}, 0, event(audit.Actor{Via: audit.ViaAPI}, 0)),
			"of the shell, for somebody": w.Record(shell, audit.NeedsProof, event(acts(s), audit.NeedsAdmin)),
		} {
			if err == nil {
				t.Errorf("an event was written by a permit %s", what)
			}
		}
		for _, err := range []error{
			w.Record(acts(s), audit.NeedsProof, event(acts(s), audit.NeedsAdmin)), w.Record(shell, 0, event(shell, 0)),
			w.Record(audit.Actor{}, 0, event(acts(s), audit.NeedsNothing)),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	})
}
