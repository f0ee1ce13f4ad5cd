//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// acting asks for an impersonation of a user by who acts in a login.
func acting(by audit.Actor, user idworker.ID) session.Opening {
	p := policy.Default()
	return session.Opening{UserID: user, Act: by.ID, Seen: start, Record: &session.Record{
		By: by, Need: audit.NeedsProof, Reason: "ticket 7", Policy: &p, Now: start,
	}}
}

// impersonates begins an impersonation.
func (w *world) impersonates(t *testing.T, admin session.Session, user idworker.ID) session.Begun {
	t.Helper()
	begun, err := w.login(t.Context(), acting(acts(admin), user))
	must(t, err)
	return begun
}

// TestPurgeLeavesNoNameInTheEndsOfAnAdmin: the event of the end of all logins of an admin has the
// impersonations, too. Earlier versions have written the names of their users into it.
func TestPurgeLeavesNoNameInTheEndsOfAnAdmin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const name = "zebulon"
		root := w.begin(t, w.admin(t, "root"))
		w.admin(t, "second")
		user, other := w.user(t, name), w.user(t, "ada")
		w.impersonates(t, root, user)
		_, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: root.UserID, Reason: session.LoggedOut, Record: w.byShell()}, 0)
		must(t, err)
		earlier := make([]audit.Event, 3)
		for i := range earlier {
			earlier[i] = audit.Event{ID: w.ids.next(0), By: shell, Need: audit.NeedsNothing, Action: audit.LoginEnded, Target: audit.AboutUser(root.UserID, "root"),
				Old: fmt.Appendf(nil, `[{"session_id":"1","device_name":"desk"},{"session_id":"2","user_id":"%v","username":"ada"},{"session_id":"3","user_id":"%v","username":"zebulon"}]`, other, user)}
		}
		must(t, (&sqlstore.Audit{DB: w.DB}).AppendAll(t.Context(), earlier))
		_, err = w.delete(t.Context(), user, name)
		must(t, err)
		w.run(t, "UPDATE users SET deleted_at = 1 WHERE id = ?", int64(user))
		if n, err := w.users.Forget(t.Context(), account.User{ID: user, Username: name}, 2); err != nil || n != 2 {
			t.Errorf("found %d, %v, of three by twos", n, err)
		}
		w.deletions(time.Hour).AfterSweep(t.Context())
		w.wantNowhere(t, name, user)
		if n := w.number(t, "SELECT COUNT(*) FROM audit_events WHERE INSTR(old_value, 'ada') > 0 AND INSTR(old_value, 'desk') > 0"); n != 3 {
			t.Errorf("%d of 3 events have the name of another, and the device of the admin", n)
		}
	})
}

// TestAnImpersonationIsNoneOfTheUsersSessions: whoever counts, ends or chooses among those
// does not see it, and nobody uses it.
func TestAnImpersonationIsNoneOfTheUsersSessions(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		deaf := &sqlstore.Sessions{DB: open(t, w.options)} // an instance that has heard of nothing
		root := w.begin(t, w.admin(t, "root"))
		user := w.user(t, "ada")
		own := w.begin(t, user)
		before, err := w.settings().CountLogins(t.Context(), policy.Default(), time.Now())
		must(t, err)
		begun := w.impersonates(t, root, user)
		of := begun.Session
		if of.Act != root.UserID || of.Slot != session.SlotOfAct || len(begun.Replaced) != 0 || begun.NewDevice || of.UserID != user || of.Username != "ada" || of.Role != "user" {
			t.Errorf("begun %+v", begun)
		}
		for what, read := range map[string]func() (session.Session, error){
			"here":   func() (session.Session, error) { return w.sessions.Get(t.Context(), of.ID, session.Hash{}) },
			"deaf":   func() (session.Session, error) { return deaf.Get(t.Context(), of.ID, session.Hash{}) },
			"settle": func() (session.Session, error) { return deaf.Settle(t.Context(), of.ID, time.Now()) },
		} {
			got, err := read()
			if err != nil || !got.Alive() || got.Act != root.UserID || got.Slot != session.SlotOfAct || !got.Seen.Equal(idworker.Default().Time(of.ID)) {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
		}
		later := time.Now().Add(time.Minute)
		rows, err := w.sessions.TouchAll(t.Context(), map[idworker.ID]time.Time{of.ID: later}, time.Millisecond)
		if err != nil || !rows[of.ID].Equal(idworker.Default().Time(of.ID)) || w.number(t, "SELECT token_seen_at FROM user_slots WHERE token_id = ?", int64(of.ID)) != 0 {
			t.Errorf("a use: %v, %v", rows, err)
		}
		after, err := w.settings().CountLogins(t.Context(), policy.Default(), time.Now())
		some, failed := w.settings().Sample(t.Context(), policy.Default(), time.Now())
		if err != nil || failed != nil || after != before || len(some.Logins) != int(before.Count) {
			t.Errorf("%+v logins with it, %d in a sample, and %+v before; %v, %v", after, len(some.Logins), before, err, failed)
		}
		w.wantEnded(t, "the own one", "", own, of)

		for _, class := range []string{"phone", policy.OtherClass} {
			ended, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: user, Class: class, Reason: session.Revoked, Record: w.byShell()}, own.ID)
			if err != nil || len(ended) != 0 {
				t.Errorf("the end of those on %s: %+v, %v", class, ended, err)
			}
		}
		// A login takes the place of the login, in its slot, and the impersonation goes on.
		again, err := w.login(t.Context(), w.opening(user))
		if err != nil || again.Session.Slot != 0 || len(again.Replaced) != 1 || again.Replaced[0].ID != own.ID || again.NewDevice {
			t.Errorf("a login: %+v, %v", again, err)
		}
		w.wantEnded(t, "beside a login", "", of, again.Session)
		if _, logins, err := w.users.WithLogins(t.Context(), user); err != nil || len(logins) != 2 || logins[1].Act != root.UserID || logins[0].Act != 0 {
			t.Errorf("the list of the user: %+v, %v", logins, err)
		}
		if newest, err := (sqlstore.Logins{Sessions: w.sessions}).Newest(t.Context(), 0, 1<<62, 9); err != nil || len(newest) != 3 {
			t.Errorf("the list of all: %+v, %v", newest, err)
		}
		if newest, err := deaf.News(t.Context(), time.Time{}, time.Hour); err != nil || !newest.Policy.Further {
			t.Errorf("the feed: %+v, %v", newest.Policy.Further, err)
		}
		w.sound(t)
	})
}

// TestAnImpersonationTakesNoPlace of a policy with many sessions, also if that refuses what is
// above it or limits a class, and also when the limit is lowered.
func TestAnImpersonationTakesNoPlace(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions, p.Refuse = 2, true }, "class:other=sessions:1")
		root, user := w.begin(t, w.admin(t, "root")), w.user(t, "ada")
		of := w.impersonates(t, root, user).Session
		phone, other := w.on(t, user, "phone", "").Session, w.begin(t, user)
		_, err := w.login(t.Context(), w.opening(user))
		full, ok := errors.AsType[*session.LimitError](err)
		if !ok || len(full.Choices) != 1 || full.Choices[0].ID != other.ID || full.Last != other.ID {
			t.Fatalf("a third login: %v, %+v", err, full)
		}
		second := w.impersonates(t, root, user) // between the refusal and the choice
		if len(second.Replaced) != 1 || second.Replaced[0].ID != of.ID {
			t.Errorf("the second one ended %+v", second.Replaced)
		}
		w.wantEnded(t, "the first", session.Replaced, of)
		o := w.opening(user)
		o.Place.Instead, o.Place.Last = other.ID, full.Last
		chosen, err := w.login(t.Context(), o)
		if err != nil || chosen.Session.Slot != other.Slot {
			t.Errorf("in place of one: %+v, %v", chosen, err)
		}
		w.set(t, func(p *policy.Policy) { p.MaxSessions, p.Refuse = 1, false }, "class:other=sessions:1")
		if _, logins, err := w.users.WithLogins(t.Context(), user); err != nil || len(logins) != 2 {
			t.Errorf("after a lower limit: %+v, %v", logins, err)
		}
		w.wantEnded(t, "the least recently used", session.OverLimit, phone)
		w.wantEnded(t, "the others", "", chosen.Session, second.Session)
		walk, n, err := (&sqlstore.Sweeps{DB: w.DB}).Reduce(t.Context(), sweep.Walk{}, 10)
		if err != nil || n != 0 {
			t.Errorf("the sweep ended %d, %+v, %v", n, walk, err)
		}
		w.sound(t)
	})
}

// TestWhoMayNotActForWhom: nothing begins, and nothing is on record.
func TestWhoMayNotActForWhom(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		root, other := w.begin(t, w.admin(t, "root")), w.begin(t, w.admin(t, "other"))
		user, gone := w.begin(t, w.user(t, "ada")), w.user(t, "gone")
		billing := w.user(t, "billing")
		_, _, _, err := w.users.Change(t.Context(), billing, w.become(account.RoleService))
		must(t, err)
		_, err = w.users.Disable(t.Context(), gone, start)
		must(t, err)
		over := w.begin(t, w.admin(t, "over"))
		_, err = w.sessions.End(t.Context(), logout(over))
		must(t, err)
		refused := func(what string, o session.Opening, want error) {
			t.Helper()
			if begun, err := w.login(t.Context(), o); !errors.Is(err, want) || begun.Session.ID != 0 {
				t.Errorf("%s: %+v, %v; want %v", what, begun, err, want)
			}
		}
		refused("an admin", acting(acts(root), other.UserID), session.ErrNotUser)
		refused("oneself", acting(acts(root), root.UserID), session.ErrNotUser)
		refused("a service", acting(acts(root), billing), session.ErrNotUser)
		refused("a disabled user", acting(acts(root), gone), account.ErrDisabled)
		refused("nobody", acting(acts(root), 4711), account.ErrNotFound)
		refused("by a user", acting(acts(user), gone), audit.ErrRole)
		refused("by a login that is over", acting(acts(over), user.UserID), session.RefusalOf(session.LoggedOut))
		o := acting(acts(root), user.UserID)
		o.Act = other.UserID
		if _, err := w.login(t.Context(), o); err == nil {
			t.Error("one admin acts in the name of another")
		}
		w.exec(t, "UPDATE users SET token_proved_at = 1")
		refused("without a proof", acting(acts(root), user.UserID), audit.ErrUnproven)
		if n := w.number(t, "SELECT COUNT(*) FROM user_slots"); n != 0 || w.recorded(t, audit.ImpersonationBegan) != 0 {
			t.Errorf("%d rows, %d events", n, w.recorded(t, audit.ImpersonationBegan))
		}
	})
}

// TestAnImpersonationChangesNothing, whatever is needed, and although a login of the same
// user may.
func TestAnImpersonationChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		root := w.begin(t, w.admin(t, "root"))
		own := w.begin(t, w.user(t, "ada"))
		of := w.impersonates(t, root, own.UserID).Session
		for need := audit.NeedsLogin; need <= audit.NeedsProof; need++ {
			if err := w.makes(t, acts(of), need); !errors.Is(err, audit.ErrImpersonated) {
				t.Errorf("need %d: %v", need, err)
			}
			if err := w.users.Authorize(t.Context(), acts(of), need); !errors.Is(err, audit.ErrImpersonated) {
				t.Errorf("need %d, of nothing: %v", need, err)
			}
		}
		e := audit.Event{ID: w.ids.next(0), By: acts(of), Need: audit.NeedsLogin, Action: audit.Reauthenticated, Target: audit.AboutUser(own.UserID, "ada")}
		if err := w.sessions.Prove(t.Context(), 1, e); !errors.Is(err, audit.ErrImpersonated) {
			t.Errorf("a proof: %v", err)
		}
		must(t, w.makes(t, acts(own), audit.NeedsOwnProof))
		_, err := w.sessions.End(t.Context(), logout(of)) // it may end itself
		must(t, err)
		w.wantEnded(t, "itself", session.LoggedOut, of)
		w.wantEnded(t, "the own one", "", own)
		if err := w.makes(t, acts(of), audit.NeedsLogin); !errors.Is(err, session.RefusalOf(session.LoggedOut)) {
			t.Errorf("after its end: %v", err)
		}
	})
}

// TestImpersonationsEndWithTheRightOfTheirAdmin: in the change that takes it, with a stamp for
// every feed; and with all that is of their user.
func TestImpersonationsEndWithTheRightOfTheirAdmin(t *testing.T) {
	for what, end := range map[string]func(t *testing.T, w *world, admin, user idworker.ID) ([]session.Session, error){
		"admin disabled": func(t *testing.T, w *world, admin, _ idworker.ID) ([]session.Session, error) {
			t.Helper()
			_, _, ended, err := w.users.Change(t.Context(), admin, w.disabled())
			return ended, err
		},
		"admin demoted": func(t *testing.T, w *world, admin, _ idworker.ID) ([]session.Session, error) {
			t.Helper()
			_, _, ended, err := w.users.Change(t.Context(), admin, w.become(account.RoleUser))
			return ended, err
		},
		"password of the admin": func(t *testing.T, w *world, admin, _ idworker.ID) ([]session.Session, error) {
			t.Helper()
			return w.users.ResetPassword(t.Context(), admin, 1, account.NewPHC("$second"), w.eventOf(audit.PasswordReset, admin))
		},
		"logins of the admin": func(t *testing.T, w *world, admin, _ idworker.ID) ([]session.Session, error) {
			t.Helper()
			return w.sessions.EndUser(t.Context(), session.Ending{UserID: admin, Reason: session.Revoked, Record: w.byShell()}, 0)
		},
		"other logins of the admin": func(t *testing.T, w *world, admin, _ idworker.ID) ([]session.Session, error) {
			t.Helper()
			return w.sessions.EndUser(t.Context(), session.Ending{UserID: admin, Reason: session.Revoked, Record: w.byShell()},
				idworker.ID(w.number(t, "SELECT token_id FROM users WHERE id = ?", int64(admin))))
		},
		"logins of the user": func(t *testing.T, w *world, _, user idworker.ID) ([]session.Session, error) {
			t.Helper()
			return w.sessions.EndUser(t.Context(), session.Ending{UserID: user, Reason: session.Revoked, Record: w.byShell()}, 0)
		},
		"user disabled": func(t *testing.T, w *world, _, user idworker.ID) ([]session.Session, error) {
			t.Helper()
			_, _, ended, err := w.users.Change(t.Context(), user, w.disabled())
			return ended, err
		},
	} {
		t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				admin, other := w.begin(t, w.admin(t, "root")), w.begin(t, w.admin(t, "other"))
				user, second := w.user(t, "ada"), w.user(t, "bob")
				of, beside := w.impersonates(t, admin, user).Session, w.impersonates(t, other, second).Session
				own := w.begin(t, second)
				since := w.news(t, time.Time{}).Now
				ended, err := end(t, w, admin.UserID, user)
				must(t, err)
				found := false
				for _, s := range ended {
					found = found || s.ID == of.ID && !s.Alive() && s.Slot == session.SlotOfAct && s.UserID == user
				}
				if got, err := w.sessions.Get(t.Context(), of.ID, session.Hash{}); err != nil || got.Alive() || !found {
					t.Errorf("it is %+v, %v; the change returned %+v", got, err, ended)
				}
				fed := false
				for _, e := range w.news(t, since).Ends {
					fed = fed || e.UserID == user && e.Slot == session.SlotOfAct && e.Floor == of.ID
				}
				if !fed {
					t.Error("no feed has its end")
				}
				w.wantEnded(t, "those of others", "", beside, own)
				w.sound(t)
			})
		})
	}
}

// TestImpersonationIsSweptWhenItIsOver, and not before, although it was never used.
func TestImpersonationIsSweptWhenItIsOver(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		root := w.begin(t, w.admin(t, "root"))
		user, second := w.user(t, "ada"), w.user(t, "bob")
		o := acting(acts(root), user)
		now := time.Now()
		o.ID = idworker.Default().Smallest(now.Add(-session.ActLife - 5*time.Second))
		o.Hash = hashOf(o.ID)
		old, err := w.sessions.Begin(t.Context(), o)
		must(t, err)
		young := w.impersonates(t, root, second).Session
		if got, err := w.sessions.Settle(t.Context(), old.Session.ID, now); err != nil || got.Ended != session.Expired {
			t.Errorf("one that is too old: %+v, %v", got, err)
		}
		row := idworker.ID(w.number(t, "SELECT id FROM user_slots WHERE token_id = ?", int64(young.ID)))
		listed := []sweep.Login{{Row: row, Further: true, Token: young.ID}} // by an instance whose clock is ahead
		marks := sweep.MarksOf(now.Add(-policy.Default().Absolute), now.Add(-policy.Default().Idle), 0)
		if n, err := (&sqlstore.Sweeps{DB: w.DB}).Clear(t.Context(), marks, sweep.Idle, listed, nil); err != nil || n != 0 {
			t.Errorf("cleared %d, %v; want the one that lives to stay", n, err)
		}
		if n, err := w.sweep(t.Context(), now.Add(-policy.Default().Absolute), now.Add(-policy.Default().Idle), 10); err != nil || n != 1 {
			t.Errorf("swept %d, %v; want 1", n, err)
		}
		w.wantEnded(t, "the old one", session.Expired, old.Session)
		w.wantEnded(t, "the young one", "", young)
		w.sound(t)
	})
}

// TestTheRecordHasBothSidesOfAnImpersonation: found by the admin and by the user.
func TestTheRecordHasBothSidesOfAnImpersonation(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		root := w.begin(t, w.admin(t, "root"))
		own := w.begin(t, w.user(t, "ada"))
		of := w.impersonates(t, root, own.UserID).Session
		p := policy.Default()
		e := logout(of)
		e.Record = &session.Record{ID: w.ids.next(0), By: acts(of), Need: audit.NeedsNothing, Policy: &p, Now: time.Now()}
		_, err := w.sessions.End(t.Context(), e)
		must(t, err)
		record := &sqlstore.Audit{DB: w.DB}
		for _, f := range []audit.Filter{{Actor: root.UserID, Limit: 9}, {Target: own.UserID, Limit: 9}} {
			events, err := record.List(t.Context(), f)
			if err != nil || len(events) != 2 || events[0].Action != audit.ImpersonationEnded || events[1].Action != audit.ImpersonationBegan ||
				events[1].Reason != "ticket 7" || events[1].By.Name != "root" || events[1].Target.Name != "ada" || !strings.Contains(string(events[1].New), of.ID.String()) ||
				events[0].By.Name != "root" || !strings.Contains(string(events[0].Old), root.UserID.String()) {
				t.Errorf("%+v: %+v, %v", f, events, err)
			}
		}
	})
}

// TestNoImpersonationSurvivesARace with what takes the right of its admin: also the first one
// that there is, of which nobody has heard.
func TestNoImpersonationSurvivesARace(t *testing.T) {
	for what, end := range map[string]func(*world, idworker.ID) error{
		"disabled": func(w *world, admin idworker.ID) error {
			_, err := w.users.Disable(context.Background(), admin, start)
			return err
		},
		"logged_out": func(w *world, admin idworker.ID) error {
			_, err := w.sessions.EndUser(context.Background(), session.Ending{UserID: admin, Reason: session.Revoked, Record: w.byShell()}, 0)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.admin(t, "boss")
				for i := range 8 {
					name := string(rune('a' + i))
					root, user := w.begin(t, w.admin(t, "root"+name)), w.user(t, "ada"+name)
					if i < 4 {
						w.exec(t, "UPDATE settings SET slots = 0") // as it was before the first
						w.DB = open(t, w.options)
						w.users, w.sessions = &sqlstore.Users{DB: w.DB}, &sqlstore.Sessions{DB: w.DB}
					}
					began, ended := error(nil), error(nil)
					atOnce(2, func(i int) {
						if i == 0 {
							_, began = w.login(context.Background(), acting(acts(root), user))
						} else {
							ended = end(w, root.UserID)
						}
					})
					_, refused := errors.AsType[*flakepass.Refusal](began)
					if ended != nil || began != nil && !refused {
						t.Errorf("began %v, ended %v", began, ended)
					}
					if n := w.number(t, "SELECT COUNT(*) FROM user_slots WHERE act_id = ? AND token_id IS NOT NULL", int64(root.UserID)); n != 0 {
						t.Fatalf("round %d: an impersonation lives, and its admin has no right", i)
					}
				}
			})
		})
	}
}

// TestAnAdminActsForEight users at once: one that ended, that is over or that is replaced counts
// no more. All end with the logins of the admin.
func TestAnAdminActsForEight(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		root, other := w.begin(t, w.admin(t, "root")), w.begin(t, w.admin(t, "other"))
		name := func(i int) string { return "user-" + strings.Repeat("x", 40) + string(rune('a'+i)) }
		users := make([]idworker.ID, session.MostActs)
		var last session.Session
		for i := range users {
			users[i] = w.user(t, name(i))
			last = w.impersonates(t, root, users[i]).Session
		}
		more := w.user(t, "more")
		refused := func(what string) {
			t.Helper()
			if _, err := w.login(t.Context(), acting(acts(root), more)); !errors.Is(err, session.ErrManyActs) {
				t.Fatalf("%s: %v", what, err)
			}
		}
		refused("one more")
		w.impersonates(t, other, more) // who has none
		last = w.impersonates(t, root, last.UserID).Session
		refused("after one that was replaced")
		_, err := w.sessions.End(t.Context(), logout(last))
		must(t, err)
		last = w.impersonates(t, root, more).Session
		old := idworker.Default().Smallest(start.Add(-session.ActLife - time.Minute))
		w.exec(t, "UPDATE user_slots SET token_id = ? WHERE user_id = ?", int64(old), int64(users[0]))
		w.impersonates(t, root, users[session.MostActs-1])
		ended, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: root.UserID, Reason: session.Revoked, Record: w.byShell()}, 0)
		if err != nil || len(ended) != session.MostActs+2 {
			t.Errorf("the end of the admin: %d, %v", len(ended), err)
		}
		w.wantEnded(t, "the last", session.Revoked, last)
	})
}

// TestAnAdminActsForEightAtTheSameTime: those that begin at the same moment count each other, also
// if there is none yet whose row they could wait for. The rows of their users are locked until all wait.
func TestAnAdminActsForEightAtTheSameTime(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) { // a file has one writer at a time
		root := w.begin(t, w.admin(t, "root"))
		other := w.transaction(t)
		var all sync.WaitGroup
		ctx := context.WithoutCancel(t.Context())
		for range session.MostActs + 1 {
			user := w.someone(t)
			run(t, other, "SELECT id FROM users WHERE id = ? FOR UPDATE", int64(user))
			all.Go(func() {
				if _, err := w.login(ctx, acting(acts(root), user)); err != nil && !errors.Is(err, session.ErrManyActs) {
					t.Error(err)
				}
			})
		}
		testenv.Eventually(t, time.Minute, func() bool { return w.waiting(t) > session.MostActs }, "all to wait")
		must(t, other.Commit())
		all.Wait()
		if n := w.number(t, "SELECT COUNT(*) FROM user_slots WHERE act_id = ?", int64(root.UserID)); n != session.MostActs {
			t.Errorf("the admin acts for %d users", n)
		}
	})
}

// TestARepeatedEndOfAnAdminStampsItsImpersonations: the first call was cut off, and its commit
// came long after its stamp. A different act that ends nothing stamps them, too.
func TestARepeatedEndOfAnAdminStampsItsImpersonations(t *testing.T) {
	acts := map[string]func(t *testing.T, w *world, admin idworker.ID) []session.Session{
		"disable": func(t *testing.T, w *world, admin idworker.ID) []session.Session {
			t.Helper()
			_, _, ended, err := w.users.Change(t.Context(), admin, w.disabled())
			must(t, err)
			return ended
		},
		"demote": func(t *testing.T, w *world, admin idworker.ID) []session.Session {
			t.Helper()
			_, _, ended, err := w.users.Change(t.Context(), admin, w.become(account.RoleUser))
			must(t, err)
			return ended
		},
		"logout": func(t *testing.T, w *world, admin idworker.ID) []session.Session {
			t.Helper()
			ended, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: admin, Reason: session.Revoked, Record: w.byShell()}, 0)
			must(t, err)
			return ended
		},
		"reset": func(t *testing.T, w *world, admin idworker.ID) []session.Session {
			t.Helper()
			version := int64(w.number(t, "SELECT password_version FROM users WHERE id = ?", int64(admin)))
			ended, err := w.users.ResetPassword(t.Context(), admin, version, account.NewPHC("$second"), w.eventOf(audit.PasswordReset, admin))
			must(t, err)
			return ended
		},
	}
	for _, c := range [][2]string{{"disable", "disable"}, {"demote", "demote"}, {"logout", "logout"}, {"reset", "reset"}, {"demote", "disable"}, {"demote", "logout"}, {"reset", "disable"}, {"logout", "demote"}} {
		t.Run(c[0]+"_"+c[1], func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				root, _ := w.begin(t, w.admin(t, "root")), w.begin(t, w.admin(t, "other"))
				user, earlier := w.user(t, "ada"), w.user(t, "bob")
				of, long := w.impersonates(t, root, user).Session, w.impersonates(t, root, earlier).Session
				acts[c[0]](t, w, root.UserID)
				w.exec(t, "UPDATE user_slots SET token_floor_at = token_floor_at - 60000")
				w.exec(t, "UPDATE users SET token_floor_at = token_floor_at - 60000 WHERE token_floor > 0")
				old := idworker.Default().Smallest(time.Now().Add(-3 * session.ActLife))
				w.exec(t, "UPDATE user_slots SET ended_token_id = ? WHERE user_id = ?", int64(old), int64(earlier))
				since := w.news(t, time.Time{}).Now
				ended := acts[c[1]](t, w, root.UserID)
				if last := len(ended) - 1; (c[0] == c[1] && c[0] != "reset" || c[1] == "logout") && (last < 0 || ended[last].ID != of.ID || !ended[last].Before) {
					t.Errorf("returned %+v", ended)
				}
				fed := false
				for _, e := range w.news(t, since).Ends {
					fed = fed || e.UserID == user && e.Slot == session.SlotOfAct && e.Floor == of.ID
					if e.UserID == earlier {
						t.Errorf("one that is over by its age: %+v, %v", e, long.ID)
					}
				}
				if !fed {
					t.Error("no feed has its end")
				}
				w.sound(t)
			})
		})
	}
}

// TestALoginOfAnEarlierReleaseIsNoImpersonation: where the policy allowed 32, it takes the row of
// an impersonation that is over, and leaves the admin in it. It lives, and counts, until an
// impersonation needs the slot.
func TestALoginOfAnEarlierReleaseIsNoImpersonation(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 3 })
		root := w.begin(t, w.admin(t, "root"))
		user := w.user(t, "ada")
		first := w.begin(t, user)
		of := w.impersonates(t, root, user).Session
		_, err := w.sessions.End(t.Context(), logout(of))
		must(t, err)
		id := w.ids.next(0)
		w.exec(t, "UPDATE user_slots SET token_id = ?, token_hash = ?, token_seen_at = ? WHERE user_id = ? AND slot = ?", int64(id), make([]byte, 33), time.Now().UnixMilli(), int64(user), int(session.SlotOfAct))
		own, err := w.sessions.Get(t.Context(), id, session.Hash{})
		if err != nil || !own.Alive() || own.Act != 0 {
			t.Fatalf("it is %+v, %v", own, err)
		}
		must(t, w.makes(t, acts(own), audit.NeedsLogin))
		_, err = w.sessions.EndUser(t.Context(), session.Ending{UserID: root.UserID, Reason: session.Revoked, Record: w.byShell()}, 0)
		must(t, err)
		second, third := w.begin(t, user), w.begin(t, user)
		w.wantEnded(t, "the end of the admin, and a third login", "", own, second, third)
		w.wantEnded(t, "the least recently used", session.Replaced, first)
		again := w.impersonates(t, w.begin(t, root.UserID), user)
		if len(again.Replaced) != 1 || again.Replaced[0].ID != id || again.Replaced[0].Act != 0 {
			t.Errorf("an impersonation ended %+v", again.Replaced)
		}
	})
}

// TestNobodyActsBesideAnOlderInstance: one that knows further slots only would not end the
// impersonations of an admin whom it disables. It may start at any time.
func TestNobodyActsBesideAnOlderInstance(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		root, user := w.begin(t, w.admin(t, "root")), w.user(t, "ada")
		must(t, (&sqlstore.Instances{DB: w.DB}).Tell(t.Context(), fleet.Report{ID: "new", Name: "b", Version: "2"}))
		of := w.impersonates(t, root, user).Session
		for _, knows := range []int{0, 1} {
			w.exec(t, "UPDATE instances SET slots = ?", knows)
			_, err := w.login(t.Context(), acting(acts(root), user))
			if old, ok := errors.AsType[*policy.OlderInstanceError](err); !ok || old.Name != "b" {
				t.Errorf("beside an instance that knows %d: %v", knows, err)
			}
		}
		w.wantEnded(t, "the one before", "", of)
		w.exec(t, "UPDATE instances SET seen_at = seen_at - 60000")
		w.impersonates(t, root, user)
	})
}

// TestAPolicyOfAnEarlierReleaseAllowsAsManyAsThisOne: 32 in the row is 31, so the next change is
// not refused for what it does not touch.
func TestAPolicyOfAnEarlierReleaseAllowsAsManyAsThisOne(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = policy.MostSessions })
		w.exec(t, "UPDATE settings SET max_sessions = 32")
		p, err := w.settings().LoadPolicy(t.Context())
		if err != nil || p.MaxSessions != policy.MostSessions || p.Check() != nil {
			t.Fatalf("%d sessions, %v, %v", p.MaxSessions, err, p.Check())
		}
		old := policy.Default()
		old.MaxSessions, old.Overrides = 32, []policy.Override{{Scope: policy.Scope{Class: policy.OtherClass}, MaxSessions: 32}}
		text, err := old.EncodeTerms()
		must(t, err)
		must(t, p.DecodeTerms(text))
		if p.Overrides[0].MaxSessions != policy.MostSessions || p.Check() != nil {
			t.Errorf("an override: %+v, %v", p.Overrides, p.Check())
		}
		if set := w.set(t, func(p *policy.Policy) { p.Idle = time.Hour }); set.MaxSessions != policy.MostSessions {
			t.Errorf("another change: %+v", set)
		}
	})
}

// TestCountOfASweepHasNoLivingImpersonation: no pass would clear it.
func TestCountOfASweepHasNoLivingImpersonation(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		root := w.begin(t, w.admin(t, "root"))
		of := w.impersonates(t, root, w.user(t, "ada")).Session
		s := &sweep.Sweeper{Store: &sqlstore.Sweeps{DB: w.DB}, Policy: policy.Fixed(policy.Default()), Now: time.Now}
		n, err := s.Count(t.Context(), nil)
		must(t, err)
		w.wantEnded(t, "it lives", "", of)
		if n.Total() != 0 {
			t.Errorf("a sweep would clear %+v, want nothing: the impersonation lives", n)
		}
	})
}
