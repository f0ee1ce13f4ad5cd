//go:build unix

package sqlstore_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// Whoever pages through a list while users come and logins begin and end sees
// each that was there from the first page to the last once, and none twice.
func TestPagesNeitherSkipNorRepeat(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const n = 60
		r := rand.New(rand.NewPCG(7, 8))
		there := map[idworker.ID]bool{}
		var logins []session.Session
		for i := range n {
			user := w.user(t, fmt.Sprintf("al%02d", (i*37)%n))
			there[user] = true
			logins = append(logins, w.begin(t, user))
		}
		stays := map[idworker.ID]bool{}
		for i, s := range logins {
			stays[s.ID] = i%3 != 0
		}
		news := 0
		meanwhile := func(t *testing.T) {
			t.Helper()
			for range 3 {
				user := w.user(t, fmt.Sprintf("al%02dx%d", r.IntN(n), news))
				w.begin(t, user)
				news++
			}
			if i := r.IntN(n); i%3 == 0 {
				if _, err := w.sessions.End(t.Context(), logout(logins[i])); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, list := range []struct {
			name  string
			wants map[idworker.ID]bool
			page  func(last idworker.ID, limit int) ([]idworker.ID, error)
		}{
			{"newest users", there, func(last idworker.ID, limit int) ([]idworker.ID, error) {
				users, err := w.users.Newest(t.Context(), last, limit)
				return idsOf(users), err
			}},
			{"users by name", there, func(last idworker.ID, limit int) ([]idworker.ID, error) {
				name := ""
				if last != 0 {
					u, err := w.users.ByID(t.Context(), last)
					if err != nil {
						return nil, err
					}
					name = u.Username
				}
				users, err := w.users.Named(t.Context(), "al", name, limit)
				for i := range users {
					if !strings.HasPrefix(users[i].Username, "al") || users[i].Username <= name {
						t.Errorf("%q behind %q", users[i].Username, name)
					}
				}
				return idsOf(users), err
			}},
			{"logins", stays, func(last idworker.ID, limit int) (ids []idworker.ID, err error) {
				if last == 0 {
					last = math.MaxInt64
				}
				found, err := (sqlstore.Logins{Sessions: w.sessions}).Newest(t.Context(), 0, last, limit)
				for _, s := range found {
					ids = append(ids, s.ID)
				}
				return ids, err
			}},
		} {
			seen := map[idworker.ID]int{}
			for last := idworker.ID(0); ; {
				page, err := list.page(last, 7)
				if err != nil {
					t.Fatalf("%s: %v", list.name, err)
				}
				if list.name != "users by name" && !slices.IsSortedFunc(page, func(a, b idworker.ID) int { return int(b - a) }) {
					t.Errorf("%s: %v is not newest first", list.name, page)
				}
				for _, id := range page {
					seen[id]++
					last = id
				}
				if len(page) < 7 {
					break
				}
				meanwhile(t)
			}
			for id, want := range list.wants {
				if want && seen[id] != 1 {
					t.Errorf("%s: %v was seen %d times", list.name, id, seen[id])
				}
			}
			for id, times := range seen {
				if times > 1 {
					t.Errorf("%s: %v was seen %d times", list.name, id, times)
				}
			}
		}
	})
}

func idsOf(users []account.User) (ids []idworker.ID) {
	for i := range users {
		ids = append(ids, users[i].ID)
	}
	return ids
}

// Names that begin with the prefix, byte for byte, and no others: what is a
// pattern elsewhere is none here.
func TestNamedTakesThePrefixAsItIs(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, name := range []string{"al", "ala", "al_a", "al.b", "alé", "al👍", "am", "bal", "zoë", "al\U0010FFFD"} {
			w.user(t, name)
		}
		for prefix, want := range map[string][]string{
			"al": {"al", "al.b", "al_a", "ala", "alé", "al👍", "al\U0010FFFD"}, "al_": {"al_a"}, "a%": nil, "al.": {"al.b"}, "alé": {"alé"}, "ale": nil,
			"AL": nil, "zo": {"zoë"}, "zoe": nil,
		} {
			users, err := w.users.Named(t.Context(), prefix, "", 50)
			var got []string
			for _, u := range users {
				got = append(got, u.Username)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%q: %q, %v; want %q", prefix, got, err, want)
			}
		}
	})
}

func TestLoginsBelowTheFloorAreNotListed(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		old := w.begin(t, w.user(t, "ada"))
		if _, err := w.settings().EndAll(t.Context(), time.UnixMilli(0)); err != nil {
			t.Fatal(err)
		}
		fresh := w.begin(t, w.user(t, "bob"))
		found, err := (sqlstore.Logins{Sessions: w.sessions}).Newest(t.Context(), 0, math.MaxInt64, 10)
		if err != nil || len(found) != 1 || found[0].ID != fresh.ID || found[0].Username != "bob" || found[0].Seen.IsZero() {
			t.Errorf("Newest: %+v, %v; without %v", found, err, old.ID)
		}
		if found, err := (sqlstore.Logins{Sessions: w.sessions}).Newest(t.Context(), fresh.ID, math.MaxInt64, 10); err != nil || len(found) != 0 {
			t.Errorf("above the last: %+v, %v", found, err)
		}
		user, logins, err := w.users.WithLogins(t.Context(), old.UserID)
		if err != nil || user.Username != "ada" || len(logins) != 1 || logins[0].Alive() {
			t.Errorf("WithLogins: %+v, %+v, %v", user, logins, err)
		}
	})
}

// Counted by hand, and of many estimated within the error.
func TestStatsAreExactForFewAndWithinTheirErrorForMany(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		r := rand.New(rand.NewPCG(9, 10))
		logins := w.scatter(t, r, 3_000)
		w.exec(t, "UPDATE users SET role = 'service' WHERE id % 10 = 1")
		w.exec(t, "UPDATE users SET role = 'admin' WHERE id < 4")
		w.exec(t, "UPDATE users SET disabled_at = id + 1 WHERE id % 3 = 0")
		rule := policy.Default()
		var live int64
		for _, l := range logins {
			if !rule.For("", "").Expired(l[0], start) && !rule.For("", "").Idled(l[1], start) {
				live++
			}
		}
		outside := 0
		for _, exactly := range []int64{50_000, 100, 100, 100, 100, 100} {
			w.SetExactly(exactly)
			for name, c := range map[string]struct {
				want  int64
				count func() (policy.Estimate, error)
			}{
				"users":    {2698, func() (policy.Estimate, error) { return w.settings().CountUsers(t.Context(), account.RoleUser) }},
				"services": {299, func() (policy.Estimate, error) { return w.settings().CountUsers(t.Context(), account.RoleService) }},
				"admins":   {3, func() (policy.Estimate, error) { return w.settings().CountUsers(t.Context(), account.RoleAdmin) }},
				"disabled": {1000, func() (policy.Estimate, error) { return w.settings().CountDisabled(t.Context()) }},
				"live":     {live, func() (policy.Estimate, error) { return w.settings().CountLogins(t.Context(), rule, start) }},
			} {
				got, err := c.count()
				if err != nil || got.Error == 0 && got.Count != c.want {
					t.Errorf("%s: %+v, %v; want %d", name, got, err, c.want)
				}
				if exact := c.want <= exactly; exact && got.Error != 0 || !exact && got.Error == 0 {
					t.Errorf("%s: %+v, counting up to %d", name, got, exactly)
				}
				if d := got.Count - c.want; max(d, -d) > got.Error {
					outside++
				}
			}
		}
		// Of 20 estimates, each right in 19 of 20 cases, more are wrong in one run of
		// 30,000.
		if outside > 6 {
			t.Errorf("%d estimates are further off than they say", outside)
		}
	})
}
