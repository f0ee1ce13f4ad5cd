//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// set changes the policy as an operator does, and returns the one in force.
func (w *world) set(t *testing.T, change func(*policy.Policy), overrides ...string) policy.Policy {
	t.Helper()
	next, err := w.settings().LoadPolicy(t.Context())
	must(t, err)
	version := next.Version
	next.Overrides = nil
	for _, text := range overrides {
		o, err := policy.ParseOverride(text)
		must(t, err)
		next.Overrides = append(next.Overrides, o)
	}
	change(&next)
	must(t, next.Check())
	set, err := w.settings().SetPolicy(t.Context(), version, next, audit.Event{ID: w.ids.next(0), By: shell, Action: audit.PolicyChanged})
	must(t, err)
	return set
}

func nothing(*policy.Policy) {}

// someone is a new user.
func (w *world) someone(t testing.TB) idworker.ID {
	t.Helper()
	w.serial++
	return w.user(t, fmt.Sprint("someone ", w.serial))
}

// TestSessionsOfAClassHaveALimitOfTheirOwn: a login above it ends the one of that class that
// was least recently used; those of other classes stay, and all together have theirs too.
func TestSessionsOfAClassHaveALimitOfTheirOwn(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.someone(t)
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 4 }, "class:phone=sessions:1", "class:web=sessions:2")
		phone := w.on(t, user, "phone", "a").Session
		tv := w.on(t, user, "tv", "a").Session
		web := w.on(t, user, "web", "a").Session
		begun := w.on(t, user, "phone", "b")
		if !slices.Equal(ids(begun.Replaced), []idworker.ID{phone.ID}) {
			t.Errorf("a second phone ends %v, want the first", ids(begun.Replaced))
		}
		web2 := w.on(t, user, "web", "b").Session
		if begun := w.on(t, user, "web", "c"); !slices.Equal(ids(begun.Replaced), []idworker.ID{web.ID}) {
			t.Errorf("a third page ends %v, want the first", ids(begun.Replaced))
		}
		if begun := w.on(t, user, "tablet", "a"); !slices.Equal(ids(begun.Replaced), []idworker.ID{tv.ID}) {
			t.Errorf("a fifth session ends %v, want the least recently used of all", ids(begun.Replaced))
		}
		w.wantEnded(t, "the others", "", begun.Session, web2)
	})
}

// TestLowerLimitOfAClass: it ends those of the class that are too many, at the first read of
// one of them, and in the sweep those that nobody has asked about; and the preview says how
// many.
func TestLowerLimitOfAClass(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 5 })
		var phones [3][]session.Session
		for i := range phones {
			user := w.someone(t)
			for _, name := range []string{"a", "b", "c"} {
				phones[i] = append(phones[i], w.on(t, user, "phone", name).Session)
			}
			w.on(t, user, "web", "a")
		}
		inForce, err := w.settings().LoadPolicy(t.Context())
		must(t, err)
		next := inForce
		next.Overrides = []policy.Override{{Scope: policy.Scope{Class: "phone"}, MaxSessions: 2}}
		effect, err := w.settings().Effect(t.Context(), inForce, next, time.Now())
		if want := (policy.Estimate{Count: 3}); err != nil || !effect.Lowers || effect.Beyond != want || effect.BeyondUsers != want || effect.Ends != want {
			t.Errorf("the preview is %+v, %v; want 3 sessions of 3 users", effect, err)
		}
		w.set(t, nothing, "class:phone=sessions:2")
		if got, err := w.sessions.Get(t.Context(), phones[0][0].ID, session.Hash{}); err != nil || got.Ended != session.OverLimit {
			t.Errorf("the least recently used phone: %+v, %v", got, err)
		}
		if got, err := w.sessions.Settle(t.Context(), phones[1][0].ID, time.Now()); err != nil || got.Ended != session.OverLimit {
			t.Errorf("that of another user: %+v, %v", got, err)
		}
		store, ended := &sqlstore.Sweeps{DB: w.DB}, 0
		for walk := (sweep.Walk{}); !walk.Done; {
			var n int
			walk, n, err = store.Reduce(t.Context(), walk, 100)
			must(t, err)
			ended += n
		}
		if ended != 1 {
			t.Errorf("the sweep ended %d, want the one nobody has asked about", ended)
		}
		if n := w.number(t, "SELECT (SELECT COUNT(*) FROM users WHERE ended_reason = 'over_limit') + (SELECT COUNT(*) FROM user_slots WHERE ended_reason = 'over_limit')"); n != 3 {
			t.Errorf("%d sessions ended, want 3", n)
		}
		w.set(t, nothing)
		w.wantEnded(t, "without the limit again", session.OverLimit, phones[0][0], phones[1][0], phones[2][0])
		w.wantEnded(t, "without the limit again", "", phones[0][1], phones[1][2], phones[2][1])
	})
}

// TestListsShowNoMoreThanAreAllowed: what a list does not show has ended for good, also where
// nobody has asked about it since the limit was lowered.
func TestListsShowNoMoreThanAreAllowed(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 3 })
		var users [3]idworker.ID
		var oldest [3]session.Session
		for i := range users {
			users[i] = w.someone(t)
			oldest[i] = w.on(t, users[i], "phone", "a").Session
			w.on(t, users[i], "phone", "b")
			w.on(t, users[i], "web", "a")
		}
		logins := sqlstore.Logins{Sessions: w.sessions}
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 })
		if _, all, err := w.users.WithLogins(t.Context(), users[0]); err != nil || len(all) != 2 {
			t.Errorf("of a user it lists %d, %v; want 2", len(all), err)
		}
		if all, err := logins.Newest(t.Context(), 0, math.MaxInt64, 50); err != nil || len(all) != 6 {
			t.Errorf("of all users it lists %d, %v; want 2 of each", len(all), err)
		}
		w.set(t, nothing, "class:phone=sessions:1")
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 3 })
		w.wantEnded(t, "with a higher limit again", session.OverLimit, oldest[:]...)
	})
}

// TestListHoldsNoConnectionWhileItEndsWhatIsTooMany: otherwise as many lists at once as there are
// connections would wait for each other.
func TestListHoldsNoConnectionWhileItEndsWhatIsTooMany(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 })
		user := w.someone(t)
		older := w.on(t, user, "phone", "a").Session
		w.on(t, user, "phone", "b")
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 1 })
		w.SQL().SetMaxOpenConns(1)
		got, err := sqlstore.Logins{Sessions: w.sessions}.Get(t.Context(), older.ID)
		if must(t, err); got.Ended != session.OverLimit {
			t.Errorf("it has ended: %q", got.Ended)
		}
	})
}

// TestLowerLimitOfAClassOutlivesARaise: a user of whom nobody has asked while all had one
// session has too many phones after a raise that leaves phones one.
func TestLowerLimitOfAClassOutlivesARaise(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 })
		user := w.someone(t)
		older := w.on(t, user, "phone", "a").Session
		w.on(t, user, "phone", "b")
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 1 })
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 }, "class:phone=sessions:1")
		w.wantEnded(t, "one phone is allowed", session.OverLimit, older)
	})
}

// TestChangeOfNoNumberLooksForNobody: the search for users with too many sessions makes each read of
// a user with several a transaction that locks.
func TestChangeOfNoNumberLooksForNobody(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		pending := func() bool { return number64(t, w.SQL(), "SELECT reduced_to - max_sessions FROM settings") > 0 }
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 3 })
		w.set(t, nothing, "class:phone=sessions:1")
		if !pending() {
			t.Error("a lower number of phones lets nobody be looked for")
		}
		w.run(t, "UPDATE settings SET reduced_to = max_sessions") // the search is over
		w.set(t, func(p *policy.Policy) { p.Note = "another rate limit" }, "class:phone=sessions:1")
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 4 }, "class:phone=sessions:1")
		if pending() {
			t.Error("users are looked for, and no number is lower")
		}
	})
}

// TestUsesAreAsFarApartAsTheirOwnScopeSays: not as that of another class or role says.
func TestUsesAreAsFarApartAsTheirOwnScopeSays(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 2 }, "class:tv=touch:5s")
		user := w.someone(t)
		phone, tv := w.on(t, user, "phone", "a").Session, w.on(t, user, "tv", "b").Session
		later := phone.Seen.Add(10 * time.Second)
		rows, err := w.sessions.TouchAll(t.Context(), map[idworker.ID]time.Time{phone.ID: later, tv.ID: later}, 5*time.Second)
		if must(t, err); !rows[phone.ID].Equal(phone.Seen) || !rows[tv.ID].Equal(later) {
			t.Errorf("last used at %v and %v", rows[phone.ID].Sub(phone.Seen), rows[tv.ID].Sub(phone.Seen))
		}
	})
}

// TestLoginAboveTheLimitIsRefused: nothing ends, and the sessions are named. In place of one
// of them it begins, once. The same device takes its own place, and what is over makes room.
func TestLoginAboveTheLimitIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, most := range []int{1, 2} {
			user := w.someone(t)
			w.set(t, func(p *policy.Policy) { p.MaxSessions, p.Refuse = most, true })
			var all []session.Session
			for _, name := range []string{"a", "b"}[:most] {
				all = append(all, w.on(t, user, "phone", name).Session)
			}
			o := w.opening(user)
			o.Seen, o.Device = time.Now(), session.DeviceOf("tv", "")
			refused := func() *session.LimitError {
				t.Helper()
				_, err := w.login(t.Context(), o)
				full, ok := errors.AsType[*session.LimitError](err)
				if !ok {
					t.Fatalf("%v, want a refusal", err)
				}
				return full
			}
			full := refused()
			want := ids(all)
			slices.Reverse(want)
			if !slices.Equal(ids(full.Choices), want) || full.Last != all[most-1].ID {
				t.Errorf("the refusal has %v and %v, want %v and the newest", ids(full.Choices), full.Last, want)
			}
			w.wantEnded(t, "after a refusal", "", all...)
			o.Place.Instead = 12345
			refused() // in place of none of the user's
			o.Place = session.Place{Instead: all[0].ID, Last: full.Last}
			begun, err := w.login(t.Context(), o)
			if err != nil || !slices.Equal(ids(begun.Replaced), []idworker.ID{all[0].ID}) {
				t.Fatalf("in place of the first: %+v, %v", begun.Replaced, err)
			}
			w.wantEnded(t, "in place of it", session.Replaced, all[0])
			w.wantEnded(t, "in place of another", "", all[1:]...)
			o.Place.Instead = begun.Session.ID
			if _, err := w.login(t.Context(), o); !errors.Is(err, session.ErrMoved) {
				t.Errorf("once more: %v, want another session to have begun", err)
			}
			if most == 2 {
				if again := w.on(t, user, "phone", "b"); !slices.Equal(ids(again.Replaced), []idworker.ID{all[1].ID}) {
					t.Errorf("the same device ends %v", ids(again.Replaced))
				}
			}
			o.Place = session.Place{}
			full = refused()
			_, err = w.sessions.End(t.Context(), logout(begun.Session))
			must(t, err)
			o.Place = session.Place{Instead: begun.Session.ID, Last: full.Last}
			if _, err := w.login(t.Context(), o); !errors.Is(err, session.ErrMoved) {
				t.Errorf("in place of one that has ended since the refusal: %v, want that there is room", err)
			}
			o.Place = session.Place{}
			if _, err := w.login(t.Context(), o); err != nil {
				t.Errorf("after a logout: %v", err)
			}
		}
	})
}

// TestEachChoiceOfARefusalMakesRoom: also after the limit was lowered, and where a class has a
// limit of its own.
func TestEachChoiceOfARefusalMakesRoom(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name      string
			most      int // after the logins
			overrides []string
			want      int // choices
		}{
			{"a lower limit", 1, nil, 1},
			{"a lower limit of two", 2, nil, 2},
			{"a class with a limit", 3, []string{"class:phone=sessions:1"}, 1},
			{"a lower limit of a class", 2, []string{"class:phone=sessions:1"}, 1},
		} {
			for chosen := range c.want {
				w.set(t, func(p *policy.Policy) { p.MaxSessions, p.Refuse = 3, true })
				user := w.someone(t)
				for _, device := range [][2]string{{"tv", "a"}, {"phone", "b"}, {"desktop", "c"}} {
					w.on(t, user, device[0], device[1])
				}
				w.set(t, func(p *policy.Policy) { p.MaxSessions, p.Refuse = c.most, true }, c.overrides...)
				o := w.opening(user)
				o.Seen, o.Device = time.Now(), session.DeviceOf("phone", "new")
				_, err := w.login(t.Context(), o)
				full, ok := errors.AsType[*session.LimitError](err)
				if !ok || len(full.Choices) != c.want {
					t.Fatalf("%s: %v with %+v, want a refusal with %d choices", c.name, err, full, c.want)
				}
				o.Place = session.Place{Instead: full.Choices[chosen].ID, Last: full.Last}
				if begun, err := w.login(t.Context(), o); err != nil || !slices.Contains(ids(begun.Replaced), o.Place.Instead) {
					t.Errorf("%s: in place of choice %d: %+v, %v", c.name, chosen, begun.Replaced, err)
				}
			}
		}
	})
}

// TestRefusalHoldsInARace: of many logins at once, those for which there is room begin.
func TestRefusalHoldsInARace(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.someone(t)
		w.set(t, func(p *policy.Policy) { p.MaxSessions, p.Refuse = 3, true })
		var begun, refused atomic.Int64
		atOnce(12, func(int) {
			_, err := w.login(t.Context(), w.opening(user))
			switch _, full := errors.AsType[*session.LimitError](err); {
			case full:
				refused.Add(1)
			case err == nil:
				begun.Add(1)
			default:
				t.Error(err)
			}
		})
		if begun.Load() != 3 || refused.Load() != 9 {
			t.Errorf("%d begun, %d refused; want 3 and 9", begun.Load(), refused.Load())
		}
	})
}

// TestSweepClearsEachPartByItsOwnTimes: what is over in a class or a role, in each slot, and
// nothing that lives in it; and a part is looked at once.
func TestSweepClearsEachPartByItsOwnTimes(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		now := time.Now()
		p := w.set(t, func(p *policy.Policy) { p.MaxSessions = 3 }, "class:phone=idle:90d,absolute:180d", "class:web=idle:1h", "role:admin=absolute:12h")
		person, admin := w.someone(t), w.someone(t)
		w.exec(t, "UPDATE users SET role = ? WHERE id = ?", string(account.RoleAdmin), int64(admin))
		w.exec(t, "UPDATE settings SET idle_base = 0, absolute_base = 0, terms = ?", withoutBases(t, p))
		begin := func(user idworker.ID, class string, issued, seen time.Duration) session.Session {
			o := w.opening(user)
			o.Device, o.Seen = session.DeviceOf(class, class), now.Add(-seen)
			w.serial++
			o.ID = idworker.Default().Smallest(now.Add(-issued)) + w.serial
			o.Hash = hashOf(o.ID)
			begun, err := w.sessions.Begin(t.Context(), o)
			must(t, err)
			return begun.Session
		}
		const hour, day = time.Hour, 24 * time.Hour
		over := []session.Session{begin(w.someone(t), "phone", 170*day, 91*day), begin(w.someone(t), "phone", 181*day, hour), begin(w.someone(t), "tv", 20*day, 15*day), begin(w.someone(t), "tv", 31*day, hour)}
		lives := []session.Session{begin(person, "phone", 170*day, 60*day), begin(person, "tv", 20*day, 13*day)}
		over = append(over, begin(person, "web", 3*hour, 2*hour), begin(admin, "phone", 13*hour, hour))
		lives = append(lives, begin(admin, "tv", 11*hour, hour), begin(w.someone(t), "web", 20*day, hour/2))
		store := &counted{Sweeps: &sqlstore.Sweeps{DB: w.DB}, looked: map[policy.Scope]int64{}}
		inForce, err := w.settings().LoadPolicy(t.Context())
		must(t, err)
		s := &sweep.Sweeper{Store: store, Runs: store.Sweeps, Policy: policy.Fixed(inForce), IDs: w.ids, Log: slog.New(slog.DiscardHandler)}
		n, err := s.Count(t.Context(), nil)
		if err != nil || n.Total() != int64(len(over)) {
			t.Errorf("%+v are over, %v; want %d", n, err, len(over))
		}
		r, err := s.Once(t.Context(), shell)
		if err != nil || r.Outcome != sweep.Done || r.Cleared != int64(len(over)) {
			t.Errorf("the sweep cleared %d, %s, %v; want %d", r.Cleared, r.Outcome, err, len(over))
		}
		for _, l := range over {
			if got, err := w.sessions.Get(t.Context(), l.ID, session.Hash{}); err != nil || got.Ended != session.Idle && got.Ended != session.Expired {
				t.Errorf("%s, issued %v ago: %+v, %v", l.Device.Class, now.Sub(idworker.Default().Time(l.ID)), got, err)
			}
		}
		w.wantEnded(t, "after the sweep", "", lives...)
		store.again = 0
		r, err = s.Once(t.Context(), shell)
		if err != nil || r.Cleared != 0 || store.again != 0 || len(store.looked) == 0 {
			t.Errorf("once more: %+v, %v, and %d of %d parts were looked at from their beginning", r, err, store.again, len(store.looked))
		}
	})
}

// TestSweepOfAPartStopsAtAnotherPolicy: an instance that has not heard of an override takes a
// login of its class for one of the rest, and must not clear it.
func TestSweepOfAPartStopsAtAnotherPolicy(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.SetNow(start)
		known := w.set(t, nothing, "class:phone=idle:20d")
		o := w.opening(w.someone(t))
		o.Device, o.Seen = session.DeviceOf("tv", ""), start.Add(-known.Idle+time.Minute)
		w.serial++
		o.ID = idworker.Default().Smallest(o.Seen) + w.serial
		begun, err := w.sessions.Begin(t.Context(), o)
		must(t, err)
		now := w.set(t, nothing, "class:phone=idle:20d", "class:tv=idle:20d")
		later := start.Add(time.Hour)
		w.SetNow(later)
		store := &sqlstore.Sweeps{DB: w.DB}
		pass := func(p policy.Policy) {
			s := &sweep.Sweeper{Store: store, Runs: store, Policy: policy.Fixed(p), IDs: w.ids, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return later }}
			if _, err := s.Once(t.Context(), shell); err != nil {
				t.Fatal(err)
			}
		}
		pass(known)
		w.wantEnded(t, "after a sweep by the policy of before", "", begun.Session)
		pass(now)
		w.wantEnded(t, "after a sweep by the policy in force", "", begun.Session)
		pass(w.set(t, nothing, "class:phone=idle:20d"))
		w.wantEnded(t, "without its override", session.Idle, begun.Session)
	})
}

// counted is the store, and how often a sweep looked at a part of which it had looked at
// more before.
type counted struct {
	*sqlstore.Sweeps
	looked map[policy.Scope]int64 // up to where
	again  int
}

func (c *counted) Stale(ctx context.Context, m sweep.Marks, from sweep.Cursor, limit int) ([]sweep.Login, sweep.Cursor, error) {
	if m.Part != nil && from.Stage == sweep.Idle {
		if to, ok := c.looked[m.Part.Scope]; ok && from.Value < to {
			c.again++
		}
		c.looked[m.Part.Scope] = m.Seen.UnixMilli()
	}
	return c.Sweeps.Stale(ctx, m, from, limit)
}

// withoutBases is what is kept of a policy whose parts have ended nothing yet.
func withoutBases(t *testing.T, p policy.Policy) []byte {
	t.Helper()
	for s, e := range p.Scopes {
		e.IdleBase, e.AbsoluteBase = time.UnixMilli(0), time.UnixMilli(0)
		p.Scopes[s] = e
	}
	text, err := p.EncodeTerms()
	must(t, err)
	return text
}

// TestNewDeviceIsOneThatNoSlotHasSeen: also after its session has ended; the first login of a
// user is on none, and who shows a credential of the device has used it before.
func TestNewDeviceIsOneThatNoSlotHasSeen(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, func(p *policy.Policy) { p.MaxSessions = 3 })
		user := w.someone(t)
		begin := func(class, name, key string, known, want bool) session.Session {
			t.Helper()
			o := w.opening(user)
			o.Seen, o.Device, o.Place.Known = time.Now(), session.DeviceOf(class, name).WithKey(key), known
			begun, err := w.login(t.Context(), o)
			must(t, err)
			if begun.NewDevice != want {
				t.Errorf("%s %q %q, credential %v: new %v, want %v", class, name, key, known, begun.NewDevice, want)
			}
			return begun.Session
		}
		phone := begin("phone", "a", "", false, false) // nothing to compare with
		begin("web", "", "", false, true)
		begin("web", "", "", false, false) // says no more than the one before
		begin("phone", "a", "", false, false)
		_, err := w.sessions.End(t.Context(), logout(begin("phone", "a", "", false, false)))
		must(t, err)
		begin("phone", "a", "", false, false)
		begin("phone", "b", "", false, true)
		begin("tv", "", "key", true, false)
		begin("tv", "c", "key", false, false)
		begin("tv", "", "other key", false, true)
		if phone.Slot != 0 {
			t.Errorf("the first is in slot %d", phone.Slot)
		}
	})
}

// TestPolicyThatChangesIsNoFailureOfTheDatabase: a pass that goes by the policy of before looks no further, and the
// next one goes on.
func TestPolicyThatChangesIsNoFailureOfTheDatabase(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.someone(t)
		rule := w.set(t, nothing, "class:phone=idle:1h")
		phone := w.on(t, user, "phone", "a").Session
		w.exec(t, "UPDATE users SET token_seen_at = token_seen_at - 7200000 WHERE token_id = ?", int64(phone.ID))
		store := &sqlstore.Sweeps{DB: w.DB}
		s := &sweep.Sweeper{Store: store, Runs: store, Policy: policy.Fixed(rule), IDs: w.ids, Log: slog.New(slog.DiscardHandler)}
		w.set(t, nothing, "class:phone=idle:30m") // by another instance
		if r := once(t, s); r.Outcome != sweep.Ceiling || r.Cleared != 0 || r.Detail != sweep.ErrChanged.Error() {
			t.Errorf("%d cleared, %s: %q", r.Cleared, r.Outcome, r.Detail)
		}
	})
}

// TestPolicyIsNotSetByAClockThatIsAhead: what a policy ends is ended up to a moment by the clock of the database, for
// good. By a clock that is a year ahead nobody could log in for a year.
func TestPolicyIsNotSetByAClockThatIsAhead(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		before, err := w.settings().LoadPolicy(t.Context())
		must(t, err)
		w.SetNow(time.Now().Add(2 * time.Hour))
		w.SetAhead(time.Hour)
		_, err = w.settings().SetPolicy(t.Context(), before.Version, before, audit.Event{ID: w.ids.next(0), By: shell, Action: audit.PolicyChanged})
		if err == nil || !strings.Contains(err.Error(), "the clock of the database is 2h0m0s ahead of this machine's") {
			t.Errorf("by a clock that is two hours ahead: %v", err)
		}
		if now, err := w.settings().LoadPolicy(t.Context()); err != nil || now.Version != before.Version {
			t.Errorf("version %d is in force, %v; want %d", now.Version, err, before.Version)
		}
		w.SetNow(time.Now().Add(30 * time.Minute))
		w.SetAhead(time.Hour)
		w.set(t, nothing)
	})
}

// TestBasesInTheFutureCanBeRepaired: by the statement that docs/guarantees.md has for it.
func TestBasesInTheFutureCanBeRepaired(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guarantees.md")
	must(t, err)
	_, statement, _ := strings.Cut(string(text), "`UPDATE settings SET version")
	statement, _, _ = strings.Cut("UPDATE settings SET version"+statement, "`")
	onEach(t, func(t *testing.T, w *world) {
		w.set(t, nothing, "class:phone=idle:20d", "role:admin=absolute:10d")
		year := time.Now().AddDate(1, 0, 0)
		w.SetNow(year)
		w.set(t, nothing, "class:phone=idle:19d")
		repair := statement
		if w.Dialect() == migrations.SQLite {
			repair = strings.ReplaceAll(repair, "UNIX_TIMESTAMP()", "unixepoch()")
		}
		w.exec(t, repair)
		w.SetNow(time.Now())
		p, err := w.settings().LoadPolicy(t.Context())
		must(t, err)
		if now := time.Now(); p.IdleBase.After(now) || p.AbsoluteBase.After(now) || len(p.Scopes) != 0 || len(p.Overrides) != 0 {
			t.Errorf("%+v", p)
		}
		s := w.begin(t, w.user(t, "ada"))
		if got, err := w.sessions.Get(t.Context(), s.ID, session.Hash{}); err != nil || !got.Alive() {
			t.Errorf("a new login has ended as %q, %v", got.Ended, err)
		}
		w.set(t, nothing, "class:phone=idle:20d")
	})
}
