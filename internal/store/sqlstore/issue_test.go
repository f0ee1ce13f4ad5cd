//go:build unix

package sqlstore_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/login"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// issuing is the opening of a session of a user by a key, at that time.
func (w keyWorld) issuing(user idworker.ID, k servicekey.Key, at time.Time) session.Opening {
	o := w.opening(user)
	o.Place.Issued = &session.Issued{Auth: session.Auth{Method: "sms", At: at.UTC().Truncate(time.Millisecond)}}
	rule := policy.Default()
	o.Record = &session.Record{By: audit.Actor{ID: w.user, Key: k.ID, Name: "billing", Via: audit.ViaAPI}, Need: audit.NeedsIssuer, Policy: &rule, Now: time.Now()}
	return o
}

// called is o as a request with that name and body.
func called(o session.Opening, name, body string) session.Opening {
	issued := *o.Place.Issued
	issued.Request = &session.Request{Name: sha256.Sum256([]byte(name)), Body: sha256.Sum256([]byte(body))}
	o.Place.Issued = &issued
	return o
}

// living are the sessions of a user that live, by the rows.
func (w *world) livingOf(t testing.TB, user idworker.ID) (ids []idworker.ID) {
	t.Helper()
	_, held, err := w.users.WithLogins(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	for i := range held {
		if held[i].Alive() {
			ids = append(ids, held[i].ID)
		}
	}
	return ids
}

// TestIssuedSessionKeepsHowItsUserWasAuthenticated: in its row, in any slot, and in the record of the
// issuer. A login with a password in its place has nothing of it.
func TestIssuedSessionKeepsHowItsUserWasAuthenticated(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k, alice, at := w.key(t, servicekey.Issue), world.user(t, "alice"), time.Now().Add(-time.Hour)
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 })
		for _, slot := range []session.Slot{0, 1} {
			begun, err := w.login(t.Context(), w.issuing(alice, k, at))
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.sessions.Get(t.Context(), begun.Session.ID, session.Hash{})
			want := session.Auth{Method: "sms", At: at.UTC().Truncate(time.Millisecond)}
			if err != nil || got.Slot != slot || got.Auth == nil || *got.Auth != want || begun.Session.Auth == nil || *begun.Session.Auth != want {
				t.Errorf("slot %d: kept %+v, %v, and answered %+v", slot, got, err, begun.Session)
			}
		}
		list, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Action: audit.LoginBegan, Limit: 1})
		if err != nil || len(list) != 1 || list[0].By.ID != w.user || !strings.Contains(string(list[0].New), `"auth_method":"sms"`) ||
			!strings.Contains(string(list[0].New), `"key_id":"`+k.ID.String()+`"`) || !strings.Contains(string(list[0].New), `"user_id":"`+alice.String()+`"`) {
			t.Errorf("on record: %+v, %v", list, err)
		}
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 1 })
		if s := w.begin(t, alice); s.Auth != nil || s.AuthMethod() != session.PasswordMethod {
			t.Errorf("a login with a password: %+v", s)
		}
		// What an older release does: it changes the token, and leaves these columns.
		if _, err := w.login(t.Context(), w.issuing(alice, k, at)); err != nil {
			t.Fatal(err)
		}
		id := w.livingOf(t, alice)[0] + 1
		w.run(t, "UPDATE users SET token_id = ? WHERE id = ?", int64(id), int64(alice))
		if got, err := w.sessions.Get(t.Context(), id, session.Hash{}); err != nil || got.Auth != nil {
			t.Errorf("a login on an older release: %+v, %v", got.Auth, err)
		}
	})
}

// TestOnlyAnIssuerOpens: a session begins by a key with the scope, which is looked at in the
// transaction, and for no login.
func TestOnlyAnIssuerOpens(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		alice, good := world.user(t, "alice"), w.key(t, servicekey.Issue)
		revoked := w.key(t, servicekey.Issue)
		must(t, w.revoke(t.Context(), revoked.ID))
		foreign := world.service(t, "orders").key(t, servicekey.Issue)
		for what, c := range map[string]struct {
			k    servicekey.Key
			want error
		}{
			"of another scope":   {w.key(t, servicekey.Verify, servicekey.Revoke, servicekey.IssueAnyRole), &servicekey.ScopeError{Needs: servicekey.Issue}},
			"revoked":            {revoked, flakepass.ErrKeyRevoked},
			"of another account": {foreign, servicekey.ErrNotFound},
		} {
			_, err := w.login(t.Context(), w.issuing(alice, c.k, time.Now()))
			_, scope := errors.AsType[*servicekey.ScopeError](err)
			_, wanted := errors.AsType[*servicekey.ScopeError](c.want)
			if scope != wanted || !wanted && !errors.Is(err, c.want) {
				t.Errorf("a key %s: %v, want %v", what, err, c.want)
			}
		}
		admin := w.begin(t, world.admin(t, "ada"))
		o := w.issuing(alice, good, time.Now())
		o.Record.By = acts(admin)
		if _, err := w.login(t.Context(), o); err == nil {
			t.Error("the login of an admin has opened one")
		}
		if err := w.makes(t, w.issuing(alice, good, time.Now()).Record.By, audit.NeedsService); err == nil {
			t.Error("a key that opens logins has done what needs the scope revoke")
		}
		if n := len(w.livingOf(t, alice)); n != 0 {
			t.Errorf("alice has %d sessions", n)
		}
		if _, err := w.login(t.Context(), w.issuing(alice, good, time.Now())); err != nil {
			t.Errorf("a good key: %v", err)
		}
	})
}

// TestRepeatedRequestLeavesOneSession: the first ends for the second, whatever the policy says, and
// the record says so. Another body, or a request that is too old, is none.
func TestRepeatedRequestLeavesOneSession(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k, other, alice, bob := w.key(t, servicekey.Issue), w.key(t, servicekey.Issue), world.user(t, "alice"), world.user(t, "bob")
		w.set(t, func(p *policy.Policy) { p.MaxSessions, p.Refuse = 3, true })
		try := func(user idworker.ID, by servicekey.Key, name, body string) (session.Begun, error) {
			return w.login(t.Context(), called(w.issuing(user, by, time.Now()), name, body))
		}
		first, err := try(alice, k, "a", "x")
		must(t, err)
		second, err := try(alice, k, "a", "x")
		if err != nil || second.Repeats != first.Session.ID || len(second.Replaced) != 1 || second.Replaced[0].ID != first.Session.ID {
			t.Fatalf("again: %+v, %v", second, err)
		}
		list, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Action: audit.LoginBegan, Limit: 1})
		if err != nil || list[0].Reason != session.RepeatedReason || !strings.Contains(string(list[0].Old), session.RepeatedReason) {
			t.Errorf("on record: %+v, %v", list, err)
		}
		if _, err := try(alice, k, "a", "y"); !errors.Is(err, session.ErrRequestReused) {
			t.Errorf("another body: %v", err)
		}
		if _, err := try(bob, k, "a", "y"); !errors.Is(err, session.ErrRequestReused) {
			t.Errorf("another body of another user: %v", err)
		}
		for _, again := range []struct {
			by   servicekey.Key
			name string
		}{{other, "a"}, {k, "b"}} {
			if begun, err := try(alice, again.by, again.name, "x"); err != nil || begun.Repeats != 0 || len(begun.Replaced) != 0 {
				t.Errorf("another request: %+v, %v", begun, err)
			}
		}
		third, err := try(alice, k, "a", "x") // where a third and a fourth would be refused
		if err != nil || third.Repeats != second.Session.ID || len(w.livingOf(t, alice)) != 3 {
			t.Errorf("at the limit: %+v, %v, %d live", third, err, len(w.livingOf(t, alice)))
		}
		w.run(t, "UPDATE issue_requests SET created_at = created_at - ?", session.RequestLife.Milliseconds())
		if begun, err := try(bob, k, "a", "y"); err != nil || begun.Repeats != 0 {
			t.Errorf("after ten minutes: %+v, %v", begun, err)
		}
		must(t, w.sessions.ClearRequests(t.Context()))
		if left := number64(t, w.SQL(), "SELECT COUNT(*) FROM issue_requests"); left != 1 {
			t.Errorf("%d requests are left, want that of bob", left)
		}
	})
}

// TestRepeatedRequestBringsBackNoEnd: what has ended the login of a request stands, in each slot. The
// request opens no login any more, and cancels no deletion.
func TestRepeatedRequestBringsBackNoEnd(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k := w.key(t, servicekey.Issue)
		everywhere := func(t *testing.T, s session.Session) {
			t.Helper()
			_, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: s.UserID, Reason: session.LoggedOut}, 0)
			must(t, err)
		}
		acts := map[string]func(*testing.T, session.Session){
			"logout": func(t *testing.T, s session.Session) {
				t.Helper()
				_, err := w.sessions.End(t.Context(), logout(s))
				must(t, err)
			},
			"logout everywhere": everywhere,
			"logout everywhere, and a login": func(t *testing.T, s session.Session) {
				t.Helper()
				everywhere(t, s)
				w.begin(t, s.UserID)
			},
			"logout everywhere, and a login that has ended": func(t *testing.T, s session.Session) {
				t.Helper()
				everywhere(t, s)
				w.begin(t, s.UserID)
				everywhere(t, s)
			},
			"a new password": func(t *testing.T, s session.Session) {
				t.Helper()
				_, err := w.newPassword(t.Context(), s.UserID, 1, "$next")
				must(t, err)
			},
			"a deletion that was asked for": func(t *testing.T, s session.Session) {
				t.Helper()
				_, err := w.users.AskDeletion(t.Context(), s.UserID, w.eventOf(audit.DeletionAsked, s.UserID))
				must(t, err)
			},
			"disabled, and enabled again": func(t *testing.T, s session.Session) {
				t.Helper()
				_, err := w.users.Disable(t.Context(), s.UserID, time.Now())
				must(t, err)
				w.run(t, "UPDATE users SET disabled_at = NULL WHERE id = ?", int64(s.UserID))
			},
			"the end of all logins": func(t *testing.T, s session.Session) {
				t.Helper()
				w.run(t, "UPDATE settings SET global_floor = ? WHERE scope = 'global'", int64(s.ID))
			},
			"the policy, before a sweep comes by": func(t *testing.T, s session.Session) {
				t.Helper()
				for _, table := range []string{"users", "user_slots"} {
					w.run(t, "UPDATE "+table+" SET token_seen_at = token_seen_at - 360000 WHERE token_id = ?", int64(s.ID))
				}
				got, err := w.sessions.Settle(t.Context(), s.ID, time.Time{})
				if err != nil || got.Ended != session.Idle {
					t.Fatalf("%q, %v: the token is refused as idle", got.Ended, err)
				}
			},
		}
		for _, slot := range []session.Slot{0, 1} {
			w.set(t, func(p *policy.Policy) { p.MaxSessions, p.Idle = 1+int(slot), 5*time.Minute })
			for name, act := range acts {
				user := w.someone(t)
				if slot == 1 {
					w.begin(t, user)
				}
				o := called(w.issuing(user, k, time.Now()), name+user.String(), "x")
				first, err := w.login(t.Context(), o)
				must(t, err)
				if first.Session.Slot != slot {
					t.Fatalf("%s: began in slot %d, want %d", name, first.Session.Slot, slot)
				}
				act(t, first.Session)
				living, asked := w.livingOf(t, user), w.number(t, "SELECT COALESCE(deletion_asked_at, 0) FROM users WHERE id = ?", int64(user))
				o.PasswordVersion = w.number(t, "SELECT password_version FROM users WHERE id = ?", int64(user))
				o.Cancels = &session.Record{ID: w.ids.next(0), By: o.Record.By, Need: audit.NeedsNothing}
				if _, err := w.login(t.Context(), o); !errors.Is(err, session.ErrRequestOver) {
					t.Errorf("%s, slot %d: %v", name, slot, err)
				}
				if now := w.livingOf(t, user); !slices.Equal(now, living) {
					t.Errorf("%s, slot %d: %v live, and %v before", name, slot, now, living)
				}
				if now := w.number(t, "SELECT COALESCE(deletion_asked_at, 0) FROM users WHERE id = ?", int64(user)); now != asked {
					t.Errorf("%s, slot %d: a deletion that was asked for at %d is now at %d", name, slot, asked, now)
				}
			}
		}
	})
}

// TestRequestIsKnownWithItsUser, and with the second factor of which a code was accepted, for ten minutes
// from the first one.
func TestRequestIsKnownWithItsUser(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k, alice, since := w.key(t, servicekey.Issue), world.user(t, "alice"), time.Now().UTC().Truncate(time.Millisecond)
		for _, factor := range []time.Time{{}, since} {
			name := factor.String()
			o := called(w.issuing(alice, k, time.Now()), name, "x")
			if user, _, err := w.users.ByRequest(t.Context(), k.ID, o.Place.Issued.Request); user != 0 || err != nil {
				t.Errorf("before: %v, %v", user, err)
			}
			o.Place.Issued.Factor = factor
			if _, err := w.login(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			r := o.Place.Issued.Request
			user, got, err := w.users.ByRequest(t.Context(), k.ID, r)
			if user != alice || !got.Equal(factor) || err != nil {
				t.Errorf("user %v, factor %v, %v; want %v, %v", user, got, err, alice, factor)
			}
			if _, _, err := w.users.ByRequest(t.Context(), k.ID, &session.Request{Name: r.Name}); !errors.Is(err, session.ErrRequestReused) {
				t.Errorf("with another body: %v", err)
			}
			if user, _, err := w.users.ByRequest(t.Context(), k.ID+1, r); user != 0 || err != nil {
				t.Errorf("by another key: %v, %v", user, err)
			}
			w.run(t, "UPDATE issue_requests SET created_at = created_at - ?", session.RequestLife.Milliseconds()-60_000)
			if _, err := w.login(t.Context(), o); err != nil { // again, and the time runs on
				t.Fatal(err)
			}
			w.run(t, "UPDATE issue_requests SET created_at = created_at - ?", 60_000)
			if user, _, err := w.users.ByRequest(t.Context(), k.ID, r); user != 0 || err != nil {
				t.Errorf("after ten minutes: %v, %v", user, err)
			}
		}
	})
}

// TestRequestThatGetsTooOldOpensNoSecondSession: it was known when its user was looked for, so no code
// was looked at, and it is not when the session would begin.
func TestRequestThatGetsTooOldOpensNoSecondSession(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k := w.key(t, servicekey.Issue)
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 })
		for what, statement := range map[string]string{
			"too old": "UPDATE issue_requests SET created_at = created_at - 600000",
			"cleared": "DELETE FROM issue_requests",
		} {
			user := w.someone(t)
			o := called(w.issuing(user, k, time.Now()), what, "x")
			_, err := w.login(t.Context(), o)
			must(t, err)
			living := w.livingOf(t, user)
			w.run(t, statement)
			o.Place.Issued.Again = true
			if _, err := w.login(t.Context(), o); !errors.Is(err, session.ErrRequestOver) {
				t.Errorf("%s: %v", what, err)
			}
			if now := w.livingOf(t, user); !slices.Equal(now, living) {
				t.Errorf("%s: %v live, and %v before", what, now, living)
			}
		}
	})
}

// TestRequestThatHasMadeItsUserIsKnown, if the login was cut off: the same one finds that user and
// opens its first login, and one with another body does nothing.
func TestRequestThatHasMadeItsUserIsKnown(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k, id := w.key(t, servicekey.Issue), w.ids.next(0)
		o := called(w.issuing(id, k, time.Now()), "a", "x")
		r := o.Place.Issued.Request
		make := func(id idworker.ID, r *session.Request, external string) error {
			u := account.User{ID: id, Username: "user-" + id.String(), ExternalID: external, Role: account.RoleUser, PasswordVersion: 1, CreatedAt: start, UpdatedAt: start}
			return w.users.CreateBy(t.Context(), k.ID, r, u, audit.Event{ID: w.ids.next(0), By: o.Record.By, Need: audit.NeedsIssuer, Action: audit.UserCreated, Target: audit.AboutUser(id, u.Username)})
		}
		must(t, make(id, r, "crm-1"))
		if user, factor, err := w.users.ByRequest(t.Context(), k.ID, r); user != id || !factor.IsZero() || err != nil {
			t.Errorf("user %v, factor %v, %v", user, factor, err)
		}
		if err := make(w.ids.next(0), r, "crm-1"); !errors.Is(err, account.ErrOtherPerson) {
			t.Errorf("the same again: %v", err)
		}
		other := called(o, "a", "y").Place.Issued.Request
		if err := make(w.ids.next(0), other, "crm-2"); !errors.Is(err, session.ErrRequestReused) || w.events(t, audit.UserCreated) != 1 {
			t.Errorf("another body: %v, %d users made", err, w.events(t, audit.UserCreated))
		}
		w.run(t, "UPDATE issue_requests SET created_at = created_at - ?", session.RequestLife.Milliseconds()-60_000)
		begun, err := w.login(t.Context(), o)
		if err != nil || begun.Repeats != 0 {
			t.Fatalf("the first login: %+v, %v", begun, err)
		}
		w.run(t, "UPDATE issue_requests SET created_at = created_at - ?", 60_000)
		if again, err := w.login(t.Context(), o); err != nil || again.Repeats != begun.Session.ID {
			t.Errorf("again: %+v, %v", again, err)
		}
	})
}

// TestRequestsAtTheSameTimeLeaveOneSession: of one user, and of several users that have by
// mistake one name.
func TestRequestsAtTheSameTimeLeaveOneSession(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k := w.key(t, servicekey.Issue)
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 8 })
		users := []idworker.ID{world.user(t, "alice"), world.user(t, "bob")}
		var all sync.WaitGroup
		ctx := context.WithoutCancel(t.Context())
		for i := range 8 {
			all.Go(func() {
				if _, err := w.login(ctx, called(w.issuing(users[0], k, time.Now()), "a", "x")); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				_, err := w.login(ctx, called(w.issuing(users[i%2], k, time.Now()), "b", users[i%2].String()))
				if err != nil && !errors.Is(err, session.ErrRequestReused) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := len(w.livingOf(t, users[0])) + len(w.livingOf(t, users[1])); n != 2 {
			t.Errorf("%d sessions live, want one of each request", n)
		}
	})
}

// TestNothingIsIssuedAfterTheEnd: issuing races what ends it, and what was acknowledged holds at
// once: nothing begins by a key that was revoked, nor for a user who was disabled.
func TestNothingIsIssuedAfterTheEnd(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		for name, end := range map[string]func(servicekey.Key, idworker.ID) error{
			"the key is revoked": func(k servicekey.Key, _ idworker.ID) error { return w.revoke(t.Context(), k.ID) },
			"the user is disabled": func(_ servicekey.Key, user idworker.ID) error {
				_, err := w.users.Disable(t.Context(), user, time.Now())
				return err
			},
		} {
			k, user := w.key(t, servicekey.Issue), w.someone(t)
			var all sync.WaitGroup
			stop, ready := make(chan struct{}), make(chan struct{}, 64)
			for range 4 {
				all.Go(func() {
					for range 60 { // an end does not come first while logins come without a pause
						select {
						case <-stop:
							return
						default:
						}
						_, err := w.login(context.WithoutCancel(t.Context()), w.issuing(user, k, time.Now()))
						if err == nil {
							select {
							case ready <- struct{}{}:
							default:
							}
						} else if !errors.Is(err, flakepass.ErrKeyRevoked) && !errors.Is(err, account.ErrDisabled) {
							t.Error(err)
						}
					}
				})
			}
			for range 8 {
				<-ready
			}
			if err := end(k, user); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			began := number64(t, w.SQL(), "SELECT COUNT(*) FROM audit_events")
			for range 4 { // and some after it
				if _, err := w.login(t.Context(), w.issuing(user, k, time.Now())); err == nil {
					t.Errorf("%s, and a session begins", name)
				}
			}
			close(stop)
			all.Wait()
			if after := number64(t, w.SQL(), "SELECT COUNT(*) FROM audit_events"); after != began {
				t.Errorf("%s, and %d sessions began after that", name, after-began)
			}
		}
	})
}

// TestIssuedProofIsThatOfTheIssuer: it is as old as the issuer says, and none of an admin.
func TestIssuedProofIsThatOfTheIssuer(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k, alice, ada := w.key(t, servicekey.Issue, servicekey.IssueAnyRole), world.user(t, "alice"), world.admin(t, "ada")
		for _, c := range []struct {
			what string
			user idworker.ID
			at   time.Time
			need audit.Need
			want error
		}{
			{"just now", alice, time.Now(), audit.NeedsOwnProof, nil},
			{"long ago", alice, time.Now().Add(-time.Hour), audit.NeedsOwnProof, audit.ErrUnproven},
			{"of an admin", ada, time.Now(), audit.NeedsAdmin, nil},
			{"of an admin, who needs a proof", ada, time.Now(), audit.NeedsProof, audit.ErrUnproven},
		} {
			begun, err := w.login(t.Context(), w.issuing(c.user, k, c.at))
			must(t, err)
			if err := w.makes(t, acts(begun.Session), c.need); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.what, err, c.want)
			}
		}
	})
}

// TestExternalIDIsComparedByteForByte, also where the database would find more the same.
func TestExternalIDIsComparedByteForByte(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		id := w.ids.next(0)
		must(t, w.users.Create(t.Context(), account.User{ID: id, Username: "user-1", ExternalID: "crm-1", Role: account.RoleUser, PasswordVersion: 1, CreatedAt: start, UpdatedAt: start}))
		if u, err := w.users.ByExternalID(t.Context(), "crm-1"); err != nil || u.ID != id || !u.PasswordHash.IsZero() {
			t.Errorf("%+v, %v", u, err)
		}
		for _, other := range []string{"crm-1 ", "CRM-1", "crm-2", ""} {
			if _, err := w.users.ByExternalID(t.Context(), other); !errors.Is(err, account.ErrNotFound) {
				t.Errorf("%q: %v", other, err)
			}
		}
	})
}

// issuers are the use case on an instance of its own, of which the database is that of w.
func (w keyWorld) issuers(t *testing.T, k servicekey.Key) (*login.Service, *login.Client) {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), w.options)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	users, kept, rule := &sqlstore.Users{DB: db}, &sqlstore.Sessions{DB: db}, policy.Default()
	return &login.Service{
			Users: users, Known: users, Newcomers: &account.Service{Users: users, IDs: w.ids, Now: time.Now}, Methods: []string{"sms"},
			Sessions: &session.Service{Store: kept, Rows: kept, Writer: kept, IDs: above{w.ids}, EventIDs: w.ids, Policy: always{&rule}},
			Attempts: w.limiter(t), Incidents: unnoted{}, Counts: &activity.Counter{}, IDs: w.ids, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}, &login.Client{
			By: audit.Actor{ID: w.user, Key: k.ID, Name: "billing", Via: audit.ViaAPI},
		}
}

// meeting asks for a request, and then waits until the others have asked.
type meeting struct {
	login.Known
	met func()
}

func (m *meeting) ByRequest(ctx context.Context, by idworker.ID, r *session.Request) (idworker.ID, time.Time, error) {
	user, factor, err := m.Known.ByRequest(ctx, by, r)
	m.met()
	return user, factor, err
}

// TestRequestsOfOneNameMakeOneUser: of many that ask at once with one name and other bodies one
// makes a user, and no other does; so it is when the name is free again.
func TestRequestsOfOneNameMakeOneUser(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k := w.key(t, servicekey.Issue)
		ctx := context.WithoutCancel(t.Context())
		const many = 6
		for round := range 2 {
			var asked sync.WaitGroup
			asked.Add(many)
			var opened atomic.Int32
			services, clients := make([]*login.Service, many), make([]*login.Client, many)
			for i := range many {
				services[i], clients[i] = w.issuers(t, k)
				services[i].Known = &meeting{services[i].Known, sync.OnceFunc(func() { asked.Done(); asked.Wait() })}
			}
			atOnce(many, func(i int) {
				in := login.Issue{ExternalID: fmt.Sprint("crm-", round, i), Create: true, Method: "sms", Request: &session.Request{Name: [32]byte{1}, Body: [32]byte{byte(round), byte(i)}}}
				_, err := untilInTime(t, func() error { client := *clients[i]; _, err := services[i].Issue(ctx, &client, in); return err })
				if err == nil {
					opened.Add(1)
				} else if !errors.Is(err, session.ErrRequestReused) {
					t.Error(err)
				}
			})
			if n := number64(t, w.SQL(), "SELECT COUNT(*) FROM users WHERE external_id IS NOT NULL"); n != int64(round+1) || opened.Load() != 1 {
				t.Errorf("round %d: %d users, %d logins opened", round, n, opened.Load())
			}
			w.run(t, "UPDATE issue_requests SET created_at = created_at - ?", session.RequestLife.Milliseconds())
		}
	})
}

type always struct{ rule *policy.Policy }

func (a always) Current() *policy.Policy { return a.rule }

type above struct{ *minter }

func (a above) NextAfter(_ context.Context, floor idworker.ID) (idworker.ID, error) {
	return a.next(floor), nil
}

type unnoted struct{}

func (unnoted) Note(audit.Incident) bool { return true }

// TestManyIssuesMakeOneUser: of many that ask at once on three instances one makes the user, and
// nobody is refused, also if some of them name the user and others do not. On a busy machine the
// lock of the row may not be free in time: that is no answer, and the issuer asks again.
func TestManyIssuesMakeOneUser(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k := w.key(t, servicekey.Issue)
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 31 })
		ctx := context.WithoutCancel(t.Context())
		var services []*login.Service
		var by *login.Client
		for range 3 {
			s, c := w.issuers(t, k)
			services, by = append(services, s), c
		}
		for _, id := range []string{"crm-1", "crm-2"} {
			var mu sync.Mutex
			users, made, unsure := map[flakepass.ID]bool{}, 0, false
			atOnce(9, func(i int) {
				in := login.Issue{ExternalID: id, Create: true, Method: "sms"}
				if i%2 == 0 {
					in.Username = "the-user-of-" + id
				}
				var got login.IssuedLogin
				late, err := untilInTime(t, func() (err error) { client := *by; got, err = services[i%3].Issue(ctx, &client, in); return err })
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				unsure = unsure || late > 0 // what came too late may have made the user
				users[got.Identity.UserID] = true
				if got.Created {
					made++
				}
			})
			if len(users) != 1 || made > 1 || made == 0 && !unsure {
				t.Errorf("%s: %d users, made %d times", id, len(users), made)
			}
			if n := number64(t, w.SQL(), "SELECT COUNT(*) FROM users WHERE external_id = '"+id+"'"); n != 1 {
				t.Errorf("%s: %d rows", id, n)
			}
		}
		if n := w.events(t, audit.UserCreated); n != 2 {
			t.Errorf("%d events of made users, want 2", n)
		}
		must(t, w.revoke(t.Context(), k.ID))
		client := *by
		if _, err := services[0].Issue(t.Context(), &client, login.Issue{ExternalID: "crm-3", Create: true, Method: "sms"}); !errors.Is(err, flakepass.ErrKeyRevoked) {
			t.Errorf("by a key that was revoked: %v", err)
		}
		if _, err := services[1].Issue(t.Context(), &client, login.Issue{ExternalID: "crm-1", Method: "sms"}); !errors.Is(err, flakepass.ErrKeyRevoked) {
			t.Errorf("by a key that was revoked, for a user who is there: %v", err)
		}
		if _, err := w.users.ByExternalID(t.Context(), "crm-3"); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("a key that was revoked has made a user: %v", err)
		}
	})
}

// TestIssueBesideANewPassword: what lives after the change began after it, and nobody is refused.
func TestIssueBesideANewPassword(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k, alice := w.key(t, servicekey.Issue), world.user(t, "alice")
		s, by := w.issuers(t, k)
		ctx := context.WithoutCancel(t.Context())
		for version := int64(1); version <= 3; version++ {
			var ended []session.Session
			var before idworker.ID
			atOnce(4, func(i int) {
				if i == 0 {
					var err error
					before = w.ids.next(0)
					if ended, err = w.newPassword(ctx, alice, version, "$next"); err != nil {
						t.Error(err)
					}
					return
				}
				client := *by
				if _, err := s.Issue(ctx, &client, login.Issue{UserID: alice, Method: "sms"}); err != nil {
					t.Error(err)
				}
			})
			for _, id := range w.livingOf(t, alice) {
				if id < before {
					t.Errorf("session %d lives, and was there before the password at %d", id, before)
				}
				for _, e := range ended {
					if e.ID == id {
						t.Errorf("session %d has ended with the password, and lives", id)
					}
				}
			}
		}
	})
}

// between does something once, after the issuer's request has looked at the account and before its login begins.
type between struct {
	login.Sessions
	do func()
}

func (b *between) Open(ctx context.Context, by audit.Actor, user idworker.ID, version int64, on *session.Device, in session.Place) (session.Opened, error) {
	if do := b.do; do != nil {
		b.do = nil
		do()
	}
	return b.Sessions.Open(ctx, by, user, version, on, in)
}

// TestLoginBegunBeforeADeletionDoesNotCancelIt: nor does the request of an issuer
// (docs/deletion.md). The answer is undecided, and the next login cancels it.
func TestLoginBegunBeforeADeletionDoesNotCancelIt(t *testing.T) {
	onEach(t, func(t *testing.T, world *world) {
		w := world.service(t, "billing")
		k, alice := w.key(t, servicekey.Issue), world.user(t, "alice")
		s, by := w.issuers(t, k)
		s.Sessions = &between{s.Sessions, func() {
			if _, err := w.users.AskDeletion(t.Context(), alice, w.eventOf(audit.DeletionAsked, alice)); err != nil {
				t.Fatal(err)
			}
		}}
		begun, err := s.Issue(t.Context(), by, login.Issue{UserID: alice, Method: "sms"})
		u, lookup := w.users.ByID(t.Context(), alice)
		if lookup != nil {
			t.Fatal(lookup)
		}
		if !errors.Is(err, account.ErrUndecided) || u.DeletionAskedAt.IsZero() {
			t.Errorf("Issue = %v (deletion cancelled: %v); asked for at %v", err, begun.DeletionCancelled, u.DeletionAskedAt)
		}
		if begun, err = s.Issue(t.Context(), by, login.Issue{UserID: alice, Method: "sms"}); err != nil || !begun.DeletionCancelled {
			t.Errorf("the next one: %v (deletion cancelled: %v)", err, begun.DeletionCancelled)
		}
	})
}
