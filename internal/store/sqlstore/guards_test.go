//go:build unix

package sqlstore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/memstore"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// limiter is what stands before the logins of one instance, as after a start.
func (w *world) limiter(t testing.TB) *ratelimit.Limiter {
	t.Helper()
	limits := limit.Default()
	return &ratelimit.Limiter{
		Store: &memstore.Buckets{}, Limits: func() *limit.Limits { return &limits }, Records: &byNames{LoginRecords: &sqlstore.LoginRecords{DB: w.DB}, users: w.users}, Key: []byte("secret"),
		Unremembered: func(_ context.Context, err error) { t.Error(err) },
	}
}

// byNames answers for attempts that say a name only.
type byNames struct {
	*sqlstore.LoginRecords
	users *sqlstore.Users
	known sync.Map
}

func (r *byNames) Look(ctx context.Context, q ratelimit.Query) (ratelimit.Record, error) {
	if q.User != 0 {
		return r.LoginRecords.Look(ctx, q)
	}
	id, ok := r.known.Load(q.Account)
	if !ok {
		u, err := r.users.ByName(ctx, q.Account)
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			return ratelimit.Record{}, err
		}
		id = u.ID
		r.known.Store(q.Account, id)
	}
	q.User, _ = id.(idworker.ID)
	return r.LoginRecords.Look(ctx, q)
}

func stranger(account string, i int) ratelimit.Attempt {
	return ratelimit.Attempt{Account: account, Address: netip.AddrFrom4([4]byte{203, byte(i >> 8), byte(i), 1})}
}

func through(t testing.TB, g *ratelimit.Limiter, account string, attempts int) (n int) {
	t.Helper()
	for i := range attempts {
		if _, err := g.Login(t.Context(), stranger(account, i)); err == nil {
			n++
		}
	}
	return n
}

// What strangers have used up stays used up when an instance starts anew, and
// without Redis; who logged in before gets in.
func TestGuardsOutliveARestart(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada := w.user(t, "ada")
		home := ratelimit.Attempt{Account: "ada", Address: netip.MustParseAddr("2001:db8:1:2::7")}
		g := w.limiter(t)
		taken, err := g.Login(t.Context(), home)
		if err != nil || taken.Known {
			t.Fatal(taken.Known, err)
		}
		g.LoggedIn(t.Context(), taken, ada)
		phone := g.NewDevice(home)
		if n := through(t, g, "ada", 110); n != 100 {
			t.Errorf("%d guesses got through, want 100", n)
		}
		again := w.limiter(t)
		if n := through(t, again, "ada", 10); n != 0 {
			t.Errorf("%d more after a restart", n)
		}
		neighbour := ratelimit.Attempt{Account: "ada", Address: netip.MustParseAddr("2001:db8:1:2::8")}
		device := ratelimit.Attempt{Account: "ada", Address: stranger("", 9999).Address, Credential: phone}
		for name, a := range map[string]ratelimit.Attempt{"at the place": neighbour, "on the device": device} {
			if taken, err := again.Login(t.Context(), a); err != nil || !taken.Known {
				t.Errorf("the owner %s: known %v, %v", name, taken.Known, err)
			}
		}
		w.exec(t, "UPDATE known_places SET seen_at = seen_at - 91 * 86400000")
		if _, err := again.Login(t.Context(), neighbour); err == nil {
			t.Error("a place is known for ever")
		}
	})
}

// A device that shows its last token, or the one before, is known.
func TestLastTokensAreKnown(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.user(t, "ada")
		bob := w.user(t, "bob")
		g := w.limiter(t)
		knows := func(what string, want bool, account string, hash []byte) {
			t.Helper()
			a := stranger(account, 1)
			a.ShownToken = hash
			taken, err := g.Login(t.Context(), a)
			if err != nil || taken.Known != want {
				t.Errorf("%s: known %v, %v", what, taken.Known, err)
			}
			g.Return(t.Context(), taken)
		}
		hash := w.begin(t, bob).Hash
		knows("his device", true, "bob", hash[:])
		knows("his device with her name", false, "ada", hash[:])
		w.begin(t, bob)
		knows("the token of the login before", true, "bob", hash[:])
		w.begin(t, bob)
		knows("one before that", false, "bob", hash[:])
		knows("an empty proof of somebody who never logged in", false, "ada", []byte{})
	})
}

// Of each slot the last token and the one before are known, of no other user.
func TestLastTokensOfEachSlotAreKnown(t *testing.T) {
	onSlots(t, func(t *testing.T, w *world) {
		ada := w.user(t, "ada")
		w.user(t, "bob")
		g := w.limiter(t)
		knows := func(what string, want bool, account string, shown session.Session) {
			t.Helper()
			a := stranger(account, 1)
			a.ShownID, a.ShownToken = shown.ID, shown.Hash[:]
			taken, err := g.Login(t.Context(), a)
			if err != nil || taken.Known != want {
				t.Errorf("%s: known %v, %v", what, taken.Known, err)
			}
			g.Return(t.Context(), taken)
		}
		phone, web := w.on(t, ada, "phone", "red").Session, w.on(t, ada, "web", "mine").Session
		knows("the device in slot 0", true, "ada", phone)
		knows("the device in slot 1", true, "ada", web)
		knows("with the name of another", false, "bob", web)
		next := w.on(t, ada, "web", "mine").Session
		knows("the token before", true, "ada", web)
		forged := next
		forged.Hash[3] ^= 1
		knows("another secret", false, "ada", forged)
		_, err := w.sessions.End(t.Context(), session.Ending{ID: next.ID, Hash: next.Hash, Reason: session.LoggedOut})
		must(t, err)
		knows("a token that was logged out", true, "ada", next)
	})
}

// A thousand guesses at the same time, at several instances, are counted before
// any is made.
func TestParallelGuessesAreCountedInTheDatabase(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.user(t, "ada")
		gates := []*ratelimit.Limiter{w.limiter(t), w.limiter(t)}
		var got atomic.Int64
		var all sync.WaitGroup
		for part := range 8 {
			all.Go(func() {
				for i := range 20 {
					if _, err := gates[part%2].Login(t.Context(), stranger("ada", part*100+i)); err == nil {
						got.Add(1)
					}
				}
			})
		}
		all.Wait()
		n := got.Load() + int64(through(t, gates[0], "ada", 50))
		if n != 100 {
			t.Errorf("%d guesses got through, want 100", n)
		}
	})
}

// An attempt whose client leaves while its count is locked is given back: it is known whether it was counted.
func TestWhoLeavesWhileAnAttemptIsCountedGetsItBack(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.user(t, "ada")
		g := w.limiter(t)
		if n := through(t, g, "ada", 1); n != 1 { // the row is there
			t.Fatal("refused")
		}
		const full = "SELECT full_at FROM login_guards WHERE guard > 0"
		before := w.number(t, full)
		tx, err := w.SQL().BeginTx(t.Context(), nil)
		must(t, err)
		_, err = tx.ExecContext(t.Context(), "UPDATE login_guards SET told_at = told_at")
		must(t, err)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			if taken, err := g.Login(ctx, stranger("ada", 1)); err == nil {
				g.Return(ctx, taken)
			}
		}()
		testenv.Eventually(t, time.Minute, func() bool { return w.someoneWaits(t) }, "the attempt waits for the lock")
		leave()
		must(t, tx.Rollback())
		<-left
		w.exec(t, "UPDATE login_guards SET told_at = told_at") // after what still waits
		if after := w.number(t, full); after > before {
			t.Errorf("counted all the same: %v of the account's attempts", time.Duration(after-before)*time.Millisecond)
		}
	})
}

// Whether somebody has a name cannot be told from the questions, counted or
// refused, and all names that nobody has share a bounded number of rows.
func TestNameThatNobodyHasIsAskedAboutAlike(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.user(t, "ada")
		w.change(t, w.user(t, "carol"), aliases("carol@example.org"))
		g, spy := w.limiter(t), w.spy(t)
		g.Records = &sqlstore.LoginRecords{DB: w.DB}
		asked := map[string][]string{}
		for _, name := range []string{"ada", "eve", "carol@example.org", "eve@example.org"} {
			for i := range 102 {
				spy.take()
				a := stranger("", i)
				a.Whose = w.whose(name)
				_, _ = g.Login(t.Context(), a)
				for _, s := range spy.take() {
					asked[name] = append(asked[name], fmt.Sprint(i, s.text))
				}
			}
		}
		for name, list := range asked {
			if !slices.Equal(asked["ada"], list) || len(list) != 202+102 {
				t.Errorf("%s: %d statements, of ada %d", name, len(list), len(asked["ada"]))
			}
		}
		for i := range 30 {
			_, _ = g.Login(t.Context(), stranger(fmt.Sprint("nobody", i), i))
		}
		if n := w.number(t, "SELECT COUNT(*) FROM login_guards WHERE guard < -1048576"); n != 0 {
			t.Errorf("%d rows for names that nobody has, outside of those that they share", n)
		}
	})
}

// A login of somebody known costs one statement to look, and one to count; that it
// was right costs none, if none came shortly before.
func TestKnownLoginCostsTwoStatements(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada := w.user(t, "ada")
		g, spy := w.limiter(t), w.spy(t)
		a := ratelimit.Attempt{Account: "ada", Address: netip.MustParseAddr("192.0.2.1")}
		in := func() []statement {
			t.Helper()
			spy.take()
			taken, err := g.Login(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			g.LoggedIn(t.Context(), taken, ada)
			return spy.take()
		}
		in()
		if n := len(in()); n != 2 {
			t.Errorf("%d statements for a login after which nothing was counted", n)
		}
		most := 0
		for range 40 {
			most += len(in())
		}
		if most > 40*2+40/2 { // and one in two to empty the guard
			t.Errorf("%d statements for 40 logins", most)
		}
		for _, s := range in() {
			w.searches(t, s)
		}
	})
}

// Only the newest places of a user are kept, and a name is its owner's alone.
func TestPlacesAreKept(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada, r := w.user(t, "ada"), &sqlstore.LoginRecords{DB: w.DB}
		for i := range 50 {
			w.exec(t, "UPDATE known_places SET seen_at = seen_at - 1000")
			if err := r.Remember(t.Context(), ada, []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if n := w.number(t, "SELECT COUNT(*) FROM known_places"); n != 20 {
			t.Errorf("%d places are kept, want 20", n)
		}
		for name, want := range map[string]idworker.ID{"ada": ada, "eve": 0} {
			for place, seen := range map[byte]bool{49: true, 0: false} {
				got, err := r.Look(t.Context(), ratelimit.Query{User: want, Place: []byte{place}, Shadow: -1})
				if err != nil || got.User != want || (got.PlaceSeen > 0) != (seen && want != 0) || got.Places != (want != 0) {
					t.Errorf("%q at %d: %+v, %v", name, place, got, err)
				}
				if key := got.Strangers.Key; key != cmp.Or(int64(want), -1) {
					t.Errorf("%q is counted by %d", name, key)
				}
			}
		}
	})
}

// Guards that are full again are deleted, and no others.
func TestFullGuardsAreCleared(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.user(t, "ada")
		g, r := w.limiter(t), &sqlstore.LoginRecords{DB: w.DB}
		through(t, g, "ada", 110)
		for i := range 20 {
			_, _ = g.Login(t.Context(), stranger(fmt.Sprint("nobody", i), i))
		}
		w.exec(t, "UPDATE login_guards SET full_at = -guard, networks = NULL WHERE guard < 0")
		after, left := int64(0), 20
		for _, more := range []bool{true, true, false} {
			last, err := r.Clear(t.Context(), after, 7)
			if left = max(0, left-7); err != nil || (last > after) != more || w.number(t, "SELECT COUNT(*) FROM login_guards WHERE guard < 0") != int64(left) {
				t.Errorf("after %d: %d, %v; want %d left", after, last, err, left)
			}
			after = last
		}
		if n := through(t, w.limiter(t), "ada", 1); n != 0 {
			t.Error("a guard in use was deleted")
		}
	})
}

// The sweep keeps a count of which a network has used its share, also when the account has all its attempts again.
func TestSweepGivesNoNetworkItsGuessesBack(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.user(t, "ada")
		guesses := func() (n int) {
			g := w.limiter(t)
			for i := range 30 {
				if _, err := g.Login(t.Context(), ratelimit.Attempt{Account: "ada", Address: netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})}); err == nil {
					n++
				}
			}
			return n
		}
		if n := guesses(); n != 20 {
			t.Fatalf("%d guesses of one network, want 20", n)
		}
		w.exec(t, "UPDATE login_guards SET full_at = full_at - 6 * 86400000") // as six days later, but for the network
		if _, err := (&sqlstore.LoginRecords{DB: w.DB}).Clear(t.Context(), 0, 7); err != nil {
			t.Fatal(err)
		}
		if n := guesses(); n != 0 {
			t.Errorf("%d more guesses after a sweep, want 0", n)
		}
	})
}
