//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// on begins a login on a device.
func (w *world) on(t testing.TB, user idworker.ID, class, name string) session.Begun {
	t.Helper()
	o := w.opening(user)
	o.Seen, o.Device = time.Now(), session.DeviceOf(class, name)
	begun, err := w.login(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return begun
}

func (w *world) wantEnded(t testing.TB, what string, want session.Reason, all ...session.Session) {
	t.Helper()
	for _, s := range all {
		got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{})
		if err != nil || got.Ended != want || got.ID != s.ID || got.UserID != s.UserID || got.Slot != s.Slot || got.Username != s.Username {
			t.Errorf("%s: %v in slot %d: %+v, %v; want it ended as %q", what, s.ID, s.Slot, got, err, want)
		}
	}
}

func ids(list []session.Session) (all []idworker.ID) {
	for _, s := range list {
		all = append(all, s.ID)
	}
	return all
}

// TestOneSessionAUserAsksNothingOfOtherSlots: no statement names user_slots while no
// policy has ever allowed a second session.
func TestOneSessionAUserAsksNothingOfOtherSlots(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind.options(t))
			spy := w.spy(t)
			user := w.admin(t, "ada")
			s := w.on(t, user, "phone", "Ada’s").Session
			ctx := t.Context()
			settings, users := w.settings(), w.users
			for _, c := range []struct {
				name string
				act  func() error
			}{
				{"Get", func() error { _, err := w.sessions.Get(ctx, s.ID, session.Hash{}); return err }},
				{"unknown", func() error {
					_, err := w.sessions.Get(ctx, 77, session.Hash{})
					return expect(err, session.ErrNotFound)
				}},
				{"Settle", func() error { _, err := w.sessions.Settle(ctx, s.ID, time.Now()); return err }},
				{"Touch", func() error { return w.sessions.Touch(ctx, s.ID, time.Now().Add(time.Hour)) }},
				{"news", func() error { w.news(t, time.Time{}); return nil }},
				{"user", func() error { _, _, err := users.WithLogins(ctx, user); return err }},
				{"authorize", func() error { return users.Authorize(ctx, acts(s), audit.NeedsProof) }},
				{"sweep", func() error { _, err := w.sweep(ctx, start, start, 10); return err }},
				{"EndAll", func() error { _, err := settings.EndAll(ctx, time.UnixMilli(0)); return err }},
				{"count", func() error {
					_, err := settings.CountLogins(ctx, policy.Default(), time.Now())
					return err
				}},
				{"list", func() error {
					_, err := sqlstore.Logins{Sessions: w.sessions}.Newest(ctx, 0, math.MaxInt64, 10)
					return err
				}},
				{"again", func() error { w.on(t, user, "phone", "Ada’s"); return nil }},
				{"password", func() error { _, err := w.newPassword(ctx, user, 1, "$second"); return err }},
				{"end", func() error {
					_, err := w.sessions.EndUser(ctx, session.Ending{UserID: user, Reason: session.Revoked}, 0)
					return expect(err, session.ErrNotFound)
				}},
			} {
				if err := c.act(); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			for _, sent := range spy.take() {
				if strings.Contains(sent.text, "user_slots") {
					t.Errorf("it asks for further slots: %s", sent.text)
				}
			}
		})
	}
}

// TestFirstSecondSessionOutlivesNoChange: the policy allows a second session, and one begins,
// after a change of the account has read the row and before it writes.
func TestFirstSecondSessionOutlivesNoChange(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.someone(t)
		all := []session.Session{w.on(t, user, "phone", "a").Session}
		disable := w.disabled()
		other := &sqlstore.Users{DB: open(t, w.options)} // an instance that has not heard of either
		_, _, ended, err := other.Change(t.Context(), user, func(u account.User) (account.User, []audit.Event, error) {
			if len(all) == 1 {
				w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 })
				all = append(all, w.on(t, user, "desktop", "b").Session)
			}
			return disable(u)
		})
		if must(t, err); len(ended) != 2 {
			t.Errorf("%d sessions ended, want 2", len(ended))
		}
		w.wantEnded(t, "the account was disabled", session.Disabled, all...)
	})
}

func expect(err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	return errors.Join(errors.New("not what was expected"), err)
}

// onSlots is onEach with three sessions a user.
func onSlots(t *testing.T, promise func(t *testing.T, w *world)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind.options(t))
			w.allow(t, 3, 2)
			promise(t, w)
		})
	}
}

// TestSessionsLiveSideBySide: up to the limit; then the one that was least recently used
// goes. A login on the same device takes the place of its own session.
func TestSessionsLiveSideBySide(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		user, other := w.user(t, "ada"), w.user(t, "bob")
		stays := w.on(t, other, "phone", "Ada’s").Session
		phone, tablet, web := w.on(t, user, "phone", "Ada’s").Session, w.on(t, user, "tablet", "").Session, w.on(t, user, "web", "").Session
		w.wantEnded(t, "three", "", phone, tablet, web, stays)
		if phone.Slot != 0 || tablet.Slot != 1 || web.Slot != 2 {
			t.Errorf("slots %d, %d, %d", phone.Slot, tablet.Slot, web.Slot)
		}
		again := w.on(t, user, "phone", "Ada’s")
		if got := ids(again.Replaced); !slices.Equal(got, []idworker.ID{phone.ID}) {
			t.Errorf("a login on the same device ended %v, want its own %v", got, phone.ID)
		}
		w.wantEnded(t, "the same device", session.Replaced, phone)
		must(t, w.sessions.Touch(t.Context(), tablet.ID, time.Now().Add(time.Minute)))
		tv := w.on(t, user, "tv", "")
		if got := ids(tv.Replaced); !slices.Equal(got, []idworker.ID{web.ID}) || tv.Session.Slot != 2 {
			t.Errorf("a fourth, in slot %d, ended %v, want the least recently used %v", tv.Session.Slot, got, web.ID)
		}
		w.wantEnded(t, "the fourth", session.Replaced, web)
		w.wantEnded(t, "the others", "", again.Session, tablet, tv.Session, stays)
		for _, c := range []struct {
			end  session.Session
			left []session.Session
		}{{tablet, []session.Session{again.Session, tv.Session}}, {again.Session, []session.Session{tv.Session}}} {
			ended, err := w.sessions.End(t.Context(), logout(c.end))
			if err != nil || ended.ID != c.end.ID || ended.Ended != session.LoggedOut || ended.Slot != c.end.Slot {
				t.Errorf("End: %+v, %v", ended, err)
			}
			w.wantEnded(t, "logged out", session.LoggedOut, c.end)
			w.wantEnded(t, "still here", "", append(c.left, stays)...)
			again, err := w.sessions.End(t.Context(), logout(c.end))
			if err != nil || !again.Before || again.Ended != session.LoggedOut {
				t.Errorf("End again: %+v, %v", again, err)
			}
		}
		// The feed has the end of each slot.
		news := w.news(t, time.Time{})
		for _, s := range []session.Session{again.Session, tablet, web} {
			if !slices.ContainsFunc(news.Ends, func(e session.End) bool { return e.UserID == user && e.Slot == s.Slot && e.Floor == s.ID }) {
				t.Errorf("the feed does not carry the end of %v in slot %d: %+v", s.ID, s.Slot, news.Ends)
			}
		}
		if next := w.on(t, user, "desktop", ""); next.Session.Slot != 0 || len(next.Replaced) != 0 {
			t.Errorf("the next login is in slot %d and ended %v, want the lowest free one", next.Session.Slot, ids(next.Replaced))
		}
		w.sound(t)
	})
}

// TestLimitHoldsInARace: of logins at the same time no more live afterwards than are
// allowed, each in a slot of its own, and each other one has ended and is told.
func TestLimitHoldsInARace(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		var begun [12]session.Begun
		var unsure atomic.Int64
		atOnce(len(begun), func(i int) {
			late, err := untilInTime(t, func() (err error) { begun[i], err = w.login(t.Context(), w.opening(user)); return err })
			if unsure.Add(late); err != nil {
				t.Errorf("login %d: %v", i, err)
			}
		})
		told, alive, slots := map[idworker.ID]bool{}, 0, map[session.Slot]bool{}
		for _, b := range begun {
			for _, old := range b.Replaced {
				told[old.ID] = true
			}
		}
		for _, b := range begun {
			got, err := w.sessions.Get(t.Context(), b.Session.ID, session.Hash{})
			switch {
			case errors.Is(err, session.ErrNotFound), err == nil && got.Ended == session.Replaced:
				if !told[b.Session.ID] && unsure.Add(-1) < 0 {
					t.Errorf("%v has ended, and no login says so", b.Session.ID)
				}
			case err != nil || !got.Alive() || slots[got.Slot]:
				t.Errorf("%+v, %v", got, err)
			default:
				alive++
				slots[got.Slot] = true
			}
		}
		if alive != 3 {
			t.Errorf("%d live, want 3", alive)
		}
		_, all, err := w.users.WithLogins(t.Context(), user)
		if err != nil || len(all) != 3 || !slices.IsSortedFunc(all, func(a, b session.Session) int { return int(b.ID - a.ID) }) {
			t.Errorf("the user's page has %v, %v; want 3, newest first", ids(all), err)
		}
		list, err := sqlstore.Logins{Sessions: w.sessions}.Newest(t.Context(), 0, math.MaxInt64, 2)
		if err != nil || !slices.Equal(ids(list), ids(all[:2])) {
			t.Errorf("the list has %v, %v", ids(list), err)
		}
		if rest, err := (sqlstore.Logins{Sessions: w.sessions}).Newest(t.Context(), 0, all[1].ID, 2); err != nil || !slices.Equal(ids(rest), ids(all[2:])) {
			t.Errorf("the next page has %v, %v", ids(rest), err)
		}
	})
}

// TestWhatEndsAUserEndsEverySlot: with one statement of the user's row held, and stamped.
func TestWhatEndsAUserEndsEverySlot(t *testing.T) {
	for name, c := range map[string]struct {
		why session.Reason
		act func(ctx context.Context, w *world, user idworker.ID) ([]session.Session, error)
	}{
		"an operator's logout": {session.Revoked, func(ctx context.Context, w *world, user idworker.ID) ([]session.Session, error) {
			return w.sessions.EndUser(ctx, session.Ending{UserID: user, Reason: session.Revoked, Record: w.byShell()}, 0)
		}},
		"another password": {session.PasswordChanged, func(ctx context.Context, w *world, user idworker.ID) ([]session.Session, error) {
			return w.newPassword(ctx, user, 1, "$second")
		}},
		"a change of role": {session.Revoked, func(ctx context.Context, w *world, user idworker.ID) ([]session.Session, error) {
			_, _, ended, err := w.users.Change(ctx, user, w.become(account.RoleService))
			return ended, err
		}},
		"disabled": {session.Disabled, func(ctx context.Context, w *world, user idworker.ID) ([]session.Session, error) {
			_, _, ended, err := w.users.Change(ctx, user, w.disabled())
			return ended, err
		}},
		"an operator removes the second factor": {session.Revoked, func(ctx context.Context, w *world, user idworker.ID) ([]session.Session, error) {
			return w.factors().RemoveAndEnd(ctx, user, 1, w.aboutFactor(user, audit.SecondFactorRemoved))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			onSlots(t, func(t *testing.T, w *world) {
				user := w.user(t, "ada")
				stays := w.on(t, w.user(t, "bob"), "", "").Session
				all := []session.Session{w.on(t, user, "phone", "").Session, w.on(t, user, "web", "").Session, w.on(t, user, "tv", "").Session}
				_, err := w.sessions.End(t.Context(), logout(all[1]))
				must(t, err)
				w.exec(t, "UPDATE user_slots SET token_floor_at = 1")
				ended, err := c.act(t.Context(), w, user)
				if got := ids(ended); err != nil || len(got) != 2 || !slices.Contains(got, all[0].ID) || !slices.Contains(got, all[2].ID) {
					t.Errorf("ended %v, %v; want the two that lived", got, err)
				}
				w.wantEnded(t, name, c.why, all[0], all[2])
				w.wantEnded(t, "ended before", session.LoggedOut, all[1])
				w.wantEnded(t, "another user", "", stays)
				// Also the end of before: it may have been committed too late for some feed.
				if n := w.number(t, "SELECT COUNT(*) FROM user_slots WHERE token_floor_at > 1 AND user_id = ?", int64(user)); n != 2 {
					t.Errorf("%d further slots are stamped, want 2", n)
				}
				if again, err := c.act(t.Context(), w, user); err == nil && name != "another password" {
					for _, s := range again {
						if !s.Before {
							t.Errorf("a second time ends %+v", s)
						}
					}
				}
				w.sound(t)
			})
		})
	}
}

// TestEndBelowADisabledUserLasts: a release that knows one slot disables a user, and leaves what
// lives in further slots. It is refused as the user's; whatever ends it has to end it for the time
// when the user is enabled.
func TestEndBelowADisabledUserLasts(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		for why, act := range map[session.Reason]func(user idworker.ID) error{
			session.Revoked: func(user idworker.ID) error {
				_, err := w.sessions.EndUser(t.Context(), session.Ending{UserID: user, Reason: session.Revoked, Record: w.byShell()}, 0)
				return err
			},
			session.Disabled: func(user idworker.ID) error {
				_, _, _, err := w.users.Change(t.Context(), user, w.become(account.RoleService))
				return err
			},
		} {
			user := w.user(t, "ada"+string(why))
			w.on(t, user, "phone", "")
			further := w.on(t, user, "web", "").Session
			w.exec(t, "UPDATE users SET disabled_at = 1 WHERE id = "+user.String())
			w.wantEnded(t, "while disabled", session.Disabled, further)
			if err := act(user); err != nil {
				t.Fatal(err)
			}
			w.exec(t, "UPDATE users SET disabled_at = NULL WHERE id = "+user.String())
			w.wantEnded(t, "enabled again", why, further)
		}
	})
}

// TestOthersEnd: all but one, in any slot.
func TestOthersEnd(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		for keep := range 3 {
			user := w.user(t, "ada"+string(rune('a'+keep)))
			all := []session.Session{w.on(t, user, "phone", "").Session, w.on(t, user, "web", "").Session, w.on(t, user, "tv", "").Session}
			e := session.Ending{UserID: user, Reason: session.LoggedOut, Record: w.byShell()}
			ended, err := w.sessions.EndUser(t.Context(), e, all[keep].ID)
			if err != nil || len(ended) != 2 {
				t.Errorf("keeping slot %d: %v, %v", keep, ids(ended), err)
			}
			w.wantEnded(t, "kept", "", all[keep])
			w.wantEnded(t, "others", session.LoggedOut, slices.Delete(slices.Clone(all), keep, keep+1)...)
			if again, err := w.sessions.EndUser(t.Context(), e, all[keep].ID); err != nil || len(again) != 0 {
				t.Errorf("a second time: %v, %v", ids(again), err)
			}
		}
		if got := w.events(t); len(got) != 3 {
			t.Errorf("events %v, want one for each time that something ended", got)
		}
	})
}

// TestClassEnds: all sessions on devices of a class, in any slot, and no other; with one
// event. A second time it says what has ended so.
func TestClassEnds(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		red, web, blue := w.on(t, user, "phone", "red").Session, w.on(t, user, "web", "").Session, w.on(t, user, "phone", "blue").Session
		for i := range 2 {
			e := session.Ending{UserID: user, Class: "phone", Reason: session.Revoked, Record: w.byShell()}
			ended, err := w.sessions.EndUser(t.Context(), e, 0)
			if err != nil || !slices.Equal(ids(ended), []idworker.ID{blue.ID, red.ID}) || ended[0].Before != (i > 0) {
				t.Errorf("%d: %+v, %v", i, ended, err)
			}
			w.wantEnded(t, "the phones", session.Revoked, red, blue)
			w.wantEnded(t, "the browser", "", web)
		}
		none := session.Ending{UserID: user, Class: "tv", Reason: session.Revoked, Record: w.byShell()}
		if ended, err := w.sessions.EndUser(t.Context(), none, 0); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("of a class of which there was none: %+v, %v", ended, err)
		}
		list, err := (&sqlstore.Audit{DB: w.DB}).List(t.Context(), audit.Filter{Limit: 5})
		if err != nil || len(list) != 1 || list[0].Target.ID != user || string(list[0].New) != `{"ended_device_class":"phone"}` {
			t.Errorf("events %+v, %v", list, err)
		}
	})
}

// TestClassEndsTheOneLogin of a user, if it is on a device of that class.
func TestClassEndsTheOneLogin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		for class, device := range map[string]*session.Device{"phone": session.DeviceOf("phone", ""), session.OtherDevice: nil} {
			o := w.opening(user)
			o.Device = device
			s, err := w.login(t.Context(), o)
			must(t, err)
			e := session.Ending{UserID: user, Class: "web", Reason: session.Revoked, Record: w.byShell()}
			if ended, err := w.sessions.EndUser(t.Context(), e, 0); len(ended) != 0 || err != nil && !errors.Is(err, session.ErrNotFound) {
				t.Errorf("%s: the end of another class: %+v, %v", class, ended, err)
			}
			w.wantEnded(t, class, "", s.Session)
			e.Class = class
			if ended, err := w.sessions.EndUser(t.Context(), e, 0); err != nil || len(ended) != 1 || ended[0].ID != s.Session.ID {
				t.Errorf("%s: %+v, %v", class, ended, err)
			}
			w.wantEnded(t, class, session.Revoked, s.Session)
		}
	})
}

// TestSlotsAreUsedSettledAndSwept as slot 0 is; also by an instance that has not heard of
// further slots.
func TestSlotsAreUsedSettledAndSwept(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		all := []session.Session{w.on(t, user, "phone", "").Session, w.on(t, user, "web", "").Session, w.on(t, user, "tv", "").Session}
		deaf := func() *sqlstore.Sessions { return &sqlstore.Sessions{DB: open(t, w.options)} }
		later := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		uses := map[idworker.ID]time.Time{all[0].ID: later, all[2].ID: later, 77: later}
		rows, err := deaf().TouchAll(t.Context(), uses, time.Minute)
		if err != nil || !rows[all[0].ID].Equal(later) || !rows[all[2].ID].Equal(later) || !rows[77].IsZero() || len(rows) != 3 {
			t.Errorf("TouchAll: %v, %v; want %v for both", rows, err, later)
		}
		if got, err := deaf().Get(t.Context(), all[2].ID, session.Hash{}); err != nil || !got.Alive() || !got.Seen.Equal(later) || got.Slot != 2 {
			t.Errorf("Get: %+v, %v", got, err)
		}
		if got, err := deaf().Settle(t.Context(), all[1].ID, time.Now()); err != nil || !got.Alive() || got.Slot != 1 {
			t.Errorf("Settle: %+v, %v", got, err)
		}
		n, err := w.settings().CountLogins(t.Context(), policy.Default(), time.Now())
		if err != nil || n.Count != 3 {
			t.Errorf("%+v logins, %v; want 3", n, err)
		}
		// Idle: the one that was not used.
		w.exec(t, "UPDATE user_slots SET token_seen_at = 5 WHERE slot = 1")
		if got, err := w.sessions.Settle(t.Context(), all[1].ID, time.Time{}); err != nil || got.Ended != session.Idle {
			t.Errorf("Settle of an idle one: %+v, %v", got, err)
		}
		if n, err := w.sweep(t.Context(), time.UnixMilli(0), time.UnixMilli(10), 10); err != nil || n != 1 {
			t.Errorf("swept %d, %v; want 1", n, err)
		}
		w.wantEnded(t, "swept", session.Idle, all[1])
		w.wantEnded(t, "not swept", "", all[0], all[2])
		// By a command, which has not read anything before.
		floor, err := (&sqlstore.Settings{DB: open(t, w.options)}).EndAll(t.Context(), time.UnixMilli(0))
		if err != nil || floor < all[2].ID {
			t.Errorf("the floor %v, %v; want all below it", floor, err)
		}
		w.wantEnded(t, "all ended", session.Revoked, all[0], all[2])
		w.sound(t)
	})
}

// TestActorInAnySlot: the right of a login does not depend on its slot, nor does its proof.
func TestActorInAnySlot(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		user, _ := w.admin(t, "ada"), w.admin(t, "the other")
		all := []session.Session{w.on(t, user, "phone", "").Session, w.on(t, user, "web", "").Session}
		for _, s := range all {
			must(t, w.makes(t, acts(s), audit.NeedsProof))
		}
		w.exec(t, "UPDATE user_slots SET token_proved_at = 1")
		if err := w.makes(t, acts(all[1]), audit.NeedsProof); !errors.Is(err, audit.ErrUnproven) {
			t.Errorf("an old proof: %v", err)
		}
		must(t, w.makes(t, acts(all[0]), audit.NeedsProof)) // the proof of another login is none
		e := audit.Event{ID: w.ids.next(0), By: acts(all[1]), Need: audit.NeedsLogin, Action: audit.Reauthenticated, Target: audit.AboutUser(user, "ada")}
		if err := w.sessions.Prove(t.Context(), 2, e); !errors.Is(err, account.ErrStale) {
			t.Errorf("a proof by another password: %v", err)
		}
		must(t, w.sessions.Prove(t.Context(), 1, e))
		must(t, w.makes(t, acts(all[1]), audit.NeedsProof))
		_, err := w.sessions.End(t.Context(), logout(all[1]))
		must(t, err)
		if err := w.makes(t, acts(all[1]), audit.NeedsLogin); err == nil {
			t.Error("a login that has ended made somebody")
		}
		must(t, w.makes(t, acts(all[0]), audit.NeedsProof))
		_, err = w.users.Disable(t.Context(), user, start)
		must(t, err)
		for _, s := range all {
			if err := w.makes(t, acts(s), audit.NeedsLogin); err == nil {
				t.Errorf("slot %d of a disabled admin made somebody", s.Slot)
			}
		}
	})
}

// TestLostEndsOfSlotsAreWrittenAgain in their own slot.
func TestLostEndsOfSlotsAreWrittenAgain(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		all := []session.Session{w.on(t, user, "phone", "").Session, w.on(t, user, "web", "").Session, w.on(t, user, "tv", "").Session}
		e := audit.Event{
			ID: w.ids.next(0), By: audit.Actor{Name: "flakepass", Via: audit.ViaServer}, Need: audit.NeedsNothing,
			Action: audit.CommitsLost, Target: audit.Target{Kind: "database"},
		}
		known := []session.End{{UserID: user, Slot: 1, Floor: all[1].ID, Reason: session.LoggedOut}}
		if got, err := w.sessions.EndAgain(t.Context(), known, 0, e); err != nil || got != (session.Lost{Ends: 1}) {
			t.Errorf("EndAgain: %+v, %v", got, err)
		}
		w.wantEnded(t, "lost", session.LoggedOut, all[1])
		w.wantEnded(t, "the others", "", all[0], all[2])
	})
}

// TestLowerLimitEndsTheLeastRecentlyUsed: as soon as a session of the user is read, or the
// sweep comes by; and for good, also if the limit is higher again or others end.
func TestLowerLimitEndsTheLeastRecentlyUsed(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		settings := w.settings()
		set := func(most int) {
			t.Helper()
			now, err := settings.LoadPolicy(t.Context())
			must(t, err)
			now.MaxSessions = most
			_, err = settings.SetPolicy(t.Context(), now.Version, now, audit.Event{
				ID: w.ids.next(0), By: shell, Action: audit.PolicyChanged, Target: audit.Target{Kind: "policy", Name: "global"},
			})
			must(t, err)
		}
		set(3)
		three := func(name string) []session.Session {
			user := w.user(t, name)
			all := []session.Session{w.on(t, user, "phone", "").Session, w.on(t, user, "web", "").Session, w.on(t, user, "tv", "").Session}
			must(t, w.sessions.Touch(t.Context(), all[0].ID, time.Now().Add(time.Minute)))
			return all
		}
		read, settled, swept, few := three("read"), three("settled"), three("swept"), w.on(t, w.user(t, "few"), "phone", "").Session
		set(2)
		// The one that is asked about may live, and another one end by it.
		if got, err := w.sessions.Get(t.Context(), read[0].ID, session.Hash{}); err != nil || !got.Alive() {
			t.Errorf("the most recently used: %+v, %v", got, err)
		}
		w.wantEnded(t, "lowered", session.OverLimit, read[1])
		w.wantEnded(t, "lowered", "", read[0], read[2], few)
		if !slices.ContainsFunc(w.news(t, time.Time{}).Ends, func(e session.End) bool { return e.Floor == read[1].ID && e.Slot == read[1].Slot }) {
			t.Error("the feed does not carry the end")
		}
		if got, err := w.sessions.Settle(t.Context(), settled[1].ID, time.Now()); err != nil || got.Ended != session.OverLimit {
			t.Errorf("Settle: %+v, %v", got, err)
		}
		_, err := w.sessions.End(t.Context(), logout(read[2]))
		must(t, err)
		w.wantEnded(t, "with room again", session.OverLimit, read[1])
		s := &sqlstore.Sweeps{DB: w.DB}
		walk, ended := sweep.Walk{}, 0
		for rounds := 0; !walk.Done; rounds++ {
			var n int
			if walk, n, err = s.Reduce(t.Context(), walk, 1); err != nil || rounds > 50 {
				t.Fatal(err, rounds)
			}
			ended += n
		}
		if ended != 1 {
			t.Errorf("the sweep ended %d, want the one nobody asked about", ended)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM user_slots WHERE ended_reason = 'over_limit'"); n != 3 {
			t.Errorf("%d sessions ended, want 3", n)
		}
		w.wantEnded(t, "swept", session.OverLimit, swept[1])
		// Only then is no login under way that was decided by the policy of before.
		if to := w.number(t, "SELECT reduced_to FROM settings"); to != 3 {
			t.Errorf("soon after the change it says that no user has more than %d", to)
		}
		w.exec(t, "UPDATE settings SET updated_at = updated_at - 60000")
		for walk = (sweep.Walk{}); !walk.Done; {
			walk, _, err = s.Reduce(t.Context(), walk, 1)
			must(t, err)
		}
		if walk, n, err := s.Reduce(t.Context(), sweep.Walk{}, 1); err != nil || n != 0 || !walk.Done {
			t.Errorf("once more: %+v, %d, %v; want nothing to do", walk, n, err)
		}
		set(3)
		w.wantEnded(t, "a higher limit", session.OverLimit, read[1], settled[1], swept[1])
		w.wantEnded(t, "a higher limit", "", read[0], settled[0], settled[2], swept[0], swept[2], few)
		set(1)
		if next := w.on(t, few.UserID, "tv", ""); next.Session.Slot != 0 || len(next.Replaced) != 1 {
			t.Errorf("one at a time: slot %d, ended %v", next.Session.Slot, ids(next.Replaced))
		}
		// An instance that starts now has to look for the end of the others.
		if n := w.number(t, "SELECT slots FROM settings"); n != 2 {
			t.Errorf("%d further slots were ever allowed, want 2", n)
		}
		w.sound(t)
	})
}

// TestWalkOfALowerLimitBeginsAnew when the limit is lowered once more meanwhile.
func TestWalkOfALowerLimitBeginsAnew(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		for _, name := range []string{"ada", "bob"} {
			user := w.user(t, name)
			for _, class := range []string{"phone", "web", "tv"} {
				w.on(t, user, class, "")
			}
		}
		w.exec(t, "UPDATE settings SET max_sessions = 2, reduced_to = 3, version = 7")
		s := &sqlstore.Sweeps{DB: w.DB}
		walk, n, err := s.Reduce(t.Context(), sweep.Walk{}, 2)
		if err != nil || n != 1 || walk.Done {
			t.Fatalf("%+v, %d, %v; want one of the first user", walk, n, err)
		}
		w.exec(t, "UPDATE settings SET max_sessions = 1, version = 8")
		for rounds := 0; !walk.Done && rounds < 9; rounds++ {
			if walk, _, err = s.Reduce(t.Context(), walk, 2); err != nil {
				t.Fatal(err)
			}
		}
		living := w.number(t, "SELECT COUNT(token_id) FROM users") + w.number(t, "SELECT COUNT(token_id) FROM user_slots")
		if to := w.number(t, "SELECT reduced_to FROM settings"); living != 2 || to != 1 {
			t.Errorf("%d live, and it says that no user has more than %d; want one each", living, to)
		}
	})
}

// TestSecondSessionWaitsForOlderInstances: one that knows no further slots would refuse
// their tokens.
func TestSecondSessionWaitsForOlderInstances(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		must(t, (&sqlstore.Instances{DB: w.DB}).Tell(t.Context(), fleet.Report{ID: "new", Name: "b", Version: "2"}))
		one, two := policy.Default(), policy.Default()
		two.MaxSessions = 2
		preview := func(next policy.Policy) error {
			_, err := w.settings().Effect(t.Context(), one, next, time.Now())
			return err
		}
		must(t, preview(two))
		w.exec(t, "UPDATE instances SET slots = 0")
		if old, ok := errors.AsType[*policy.OlderInstanceError](preview(two)); !ok || old.Name != "b" || old.Invalid(&two).Fields[0].Field != "max_sessions" {
			t.Errorf("beside an older instance: %v", old)
		}
		must(t, preview(one))
		w.exec(t, "UPDATE instances SET seen_at = seen_at - 60000")
		must(t, preview(two))
	})
}

// TestPreviewOfALowerLimit: it says how many sessions end, and of how many users; counted,
// and of many estimated within the error.
func TestPreviewOfALowerLimit(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		inForce := policy.Default()
		inForce.MaxSessions = 3
		next := inForce
		next.MaxSessions = 1
		for _, sessions := range []int{1, 2, 3} {
			user := w.user(t, "n"+strings.Repeat("x", sessions))
			for range sessions {
				w.on(t, user, "", "")
			}
		}
		for most, want := range map[int][2]int64{1: {3, 2}, 2: {1, 1}, 3: {0, 0}} {
			next.MaxSessions = most
			e, err := w.settings().Effect(t.Context(), inForce, next, time.Now())
			if err != nil || e.Live.Count != 6 || e.Ends != e.Beyond || e.Beyond != (policy.Estimate{Count: want[0]}) || e.BeyondUsers != (policy.Estimate{Count: want[1]}) {
				t.Errorf("to %d: %+v, %v; want %v", most, e, err, want)
			}
		}
		// What is idle by the new times is not counted twice.
		w.exec(t, "UPDATE user_slots SET token_seen_at = ? WHERE slot = 2", time.Now().Add(-time.Hour).UnixMilli())
		next.MaxSessions, next.Idle = 2, 30*time.Minute
		if e, err := w.settings().Effect(t.Context(), inForce, next, time.Now()); err != nil || e.Ends.Count != 1 || e.Beyond.Count != 0 {
			t.Errorf("with a shorter time: %+v, %v; want one end, of the one that is idle", e, err)
		}
		w.exec(t, "DELETE FROM user_slots")
		w.exec(t, "DELETE FROM users")
		logins := w.crowd(t, 9_000)
		w.exec(t, "INSERT INTO user_slots (id, user_id, slot, token_id, token_hash, token_seen_at) "+
			"SELECT id + 1, id, 1, token_id + 1, token_hash, token_seen_at FROM users WHERE token_id IS NOT NULL")
		w.SetExactly(400)
		next = inForce
		next.MaxSessions = 1
		e, err := w.settings().Effect(t.Context(), inForce, next, start.Add(time.Minute))
		want := int64(len(logins))
		if off := e.Beyond.Count - want; err != nil || e.Beyond.Error == 0 || off > 3*e.Beyond.Error || -off > 3*e.Beyond.Error {
			t.Errorf("of many: %+v, %v; want about %d", e, err, want)
		}
	})
}
