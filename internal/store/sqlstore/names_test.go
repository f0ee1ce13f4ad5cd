//go:build unix

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// names are the verbs about names, by the shell.
func (w *world) names() *operator.Users {
	return &operator.Users{Known: w.users, Names: w.users, IDs: freeIDs{w.ids}, Sessions: &operator.Sessions{}}
}

type freeIDs struct{ *minter }

func (f freeIDs) Next(context.Context) (idworker.ID, error) { return f.next(0), nil }

// whose finds the account of a name, as a login does.
func (w *world) whose(name string) func(context.Context) (string, idworker.ID, error) {
	return func(ctx context.Context) (string, idworker.ID, error) {
		f, err := (&account.Service{Users: w.users}).Find(ctx, name)
		return f.CountedAs(), f.User.ID, err
	}
}

func renamed(to string) operator.NameChange { return operator.NameChange{Username: &to} }

func aliases(all ...string) operator.NameChange { return operator.NameChange{Aliases: &all} }

func (w *world) change(t testing.TB, user idworker.ID, c operator.NameChange) account.User {
	t.Helper()
	u, err := w.names().ChangeNames(t.Context(), shell, user, c)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// agrees reports that each name is of one user, in both tables.
func (w *world) agrees(t testing.TB) {
	t.Helper()
	if n := w.number(t, "SELECT COUNT(*) FROM user_names n JOIN users u ON u.username = n.name WHERE u.id <> n.user_id"); n != 0 {
		t.Errorf("%d usernames are also aliases of others", n)
	}
	if n := w.number(t, "SELECT COUNT(*) FROM users u LEFT JOIN user_names n ON n.name = u.username AND n.user_id = u.id WHERE u.username LIKE '%@%' AND n.name IS NULL"); n != 0 {
		t.Errorf("%d usernames are missing among the aliases", n)
	}
	if n := w.number(t, "SELECT COUNT(*) FROM user_names n LEFT JOIN users u ON u.id = n.user_id WHERE u.id IS NULL OR n.kind = 'username' AND u.username <> n.name"); n != 0 {
		t.Errorf("%d names are of nobody", n)
	}
}

func TestUserIsFoundByEachName(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada, bob := w.user(t, "ada"), w.user(t, "bob@example.org")
		if u := w.change(t, ada, aliases("+4915112345678", "Ada@Example.org", "ada@example.org")); !slices.Equal(u.Aliases, []string{"+4915112345678", "ada@example.org"}) {
			t.Errorf("aliases %v", u.Aliases)
		}
		if u, _, err := w.users.WithLogins(t.Context(), ada); err != nil || len(u.Aliases) != 2 {
			t.Errorf("with logins: aliases %v, %v", u.Aliases, err)
		}
		for name, want := range map[string]idworker.ID{
			"ada": ada, "ada@example.org": ada, "+4915112345678": ada, "bob@example.org": bob, "bob": 0, "ada@example.or": 0, "ada ": 0, "ada@example.org ": 0, "-": 0,
		} {
			u, err := w.users.ByName(t.Context(), name)
			if u.ID != want || want == 0 && !errors.Is(err, account.ErrNotFound) || want != 0 && err != nil {
				t.Errorf("%q: %v, %v; want %v", name, u.ID, err, want)
			}
		}
		// The old name is free.
		if u := w.change(t, ada, renamed("ada@example.org")); len(u.Aliases) != 2 || u.Username != "ada@example.org" || !u.CountedByID {
			t.Errorf("renamed: %+v", u)
		}
		w.change(t, bob, renamed("ada"))
		w.change(t, bob, aliases("bob@example.org"))
		w.change(t, ada, renamed("ada2"))
		w.change(t, ada, aliases())
		w.agrees(t)
		if n := w.number(t, "SELECT COUNT(*) FROM user_names"); n != 1 {
			t.Errorf("%d names are kept, want that of bob", n)
		}
		if got := w.recorded(t, audit.UserRenamed) + w.recorded(t, audit.AliasesChanged); got != 6 {
			t.Errorf("%d events, want 6", got)
		}
	})
}

// TestAliasThatIsTheUsernameIsKept: it is verified, and a username is not.
func TestAliasThatIsTheUsernameIsKept(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const own = "own@mail.example"
		user, other := w.user(t, own), w.user(t, "other")
		found := func(step string, want ...string) {
			t.Helper()
			u, err := w.names().Find(t.Context(), operator.NameQuery{Alias: own})
			if len(want) == 0 && !errors.Is(err, account.ErrNotFound) || len(want) > 0 && (err != nil || u.ID != user || !slices.Equal(u.Aliases, want)) {
				t.Errorf("%s: %+v, %v; want aliases %v", step, u, err, want)
			}
			if u, err := w.users.ByName(t.Context(), own); err != nil || u.ID != user {
				t.Errorf("%s: a login finds %v, %v", step, u.ID, err)
			}
			w.agrees(t)
		}
		found("a username alone")
		w.change(t, user, aliases(own))
		if n := w.recorded(t, audit.AliasesChanged); n != 1 {
			t.Errorf("%d events, want 1", n)
		}
		found("set", own)
		w.change(t, user, operator.NameChange{AddAliases: []string{"+4915112345678"}})
		found("another is added", "+4915112345678", own)
		w.change(t, user, renamed("ownname"))
		found("renamed away", "+4915112345678", own)
		w.change(t, user, renamed(own))
		found("renamed back", "+4915112345678", own)
		for name, c := range map[string]operator.NameChange{"alias": aliases(own), "username": renamed(own)} {
			if _, err := w.names().ChangeNames(t.Context(), shell, other, c); !errors.Is(err, account.ErrAliasTaken) && !errors.Is(err, account.ErrExists) {
				t.Errorf("the %s of another: %v", name, err)
			}
		}
		w.change(t, user, operator.NameChange{RemoveAliases: []string{own}})
		found("removed")
		if _, err := w.names().ChangeNames(t.Context(), shell, other, aliases(own)); !errors.Is(err, account.ErrAliasTaken) {
			t.Errorf("the username of another, after it was removed: %v", err)
		}
		// An import keeps it as well, whether it looked before or not.
		lines := []operator.Incoming{{Line: 1, Username: "new@mail.example", Aliases: []string{"new@mail.example"}}}
		for _, added := range []int64{1, 0} {
			var rejected []string
			if done, err := w.importing(t, &rejected).Run(t.Context(), shell, slices.Values(lines)); err != nil || done.Added != added || done.Conflicts != 0 {
				t.Errorf("%+v, %v, rejected %q", done, err, rejected)
			}
		}
		if u, err := w.names().Find(t.Context(), operator.NameQuery{Alias: "new@mail.example"}); err != nil || u.Username != "new@mail.example" {
			t.Errorf("imported: %+v, %v", u, err)
		}
		w.agrees(t)
	})
}

func TestNamesAreOfOneUser(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada, bob := w.user(t, "ada"), w.user(t, "bob@example.org")
		w.change(t, ada, aliases("ada@example.org"))
		for name, c := range map[string]struct {
			user idworker.ID
			operator.NameChange
			want error
		}{
			"an alias that is an alias":        {bob, aliases("ada@example.org"), account.ErrAliasTaken},
			"an alias that is a username":      {ada, aliases("bob@example.org"), account.ErrAliasTaken},
			"a username that is an alias":      {bob, renamed("ada@example.org"), account.ErrExists},
			"a username that is a username":    {bob, renamed("ada"), account.ErrExists},
			"a username of nobody, for nobody": {7, renamed("eve"), account.ErrNotFound},
		} {
			if _, err := w.names().ChangeNames(t.Context(), shell, c.user, c.NameChange); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		e := account.User{ID: w.ids.next(0), Username: "ada@example.org", Role: account.RoleUser, PasswordVersion: 1}
		if err := w.users.Create(t.Context(), e); !errors.Is(err, account.ErrExists) {
			t.Errorf("a new user with somebody's alias: %v", err)
		}
		if err := w.users.AddAll(t.Context(), shell, audit.NeedsAdmin, []account.User{e}); !errors.Is(err, account.ErrExists) {
			t.Errorf("an imported user with somebody's alias: %v", err)
		}
		// A username that an instance of the previous release has made.
		w.exec(t, "UPDATE users SET username = 'old@example.org' WHERE id = ?", int64(ada))
		if _, err := w.names().ChangeNames(t.Context(), shell, bob, aliases("old@example.org")); !errors.Is(err, account.ErrAliasTaken) {
			t.Errorf("an alias that is such a username: %v", err)
		}
	})
}

// TestOneOfManyGetsAName: whoever asks for it in whatever way at the same time.
func TestOneOfManyGetsAName(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const name = "a@example.org"
		var users []idworker.ID
		for i := range 4 {
			users = append(users, w.user(t, fmt.Sprint("user", i)))
		}
		for round := range 8 {
			results := make([]error, 8)
			made := account.User{ID: w.ids.next(0), Username: name, Role: account.RoleUser, PasswordVersion: 1}
			imported := made
			imported.ID = w.ids.next(0)
			atOnce(len(results), func(i int) {
				switch {
				case i < 3:
					_, results[i] = w.names().ChangeNames(t.Context(), shell, users[i], aliases(name, fmt.Sprintf("own%d@example.org", i)))
				case i < 5:
					_, results[i] = w.names().ChangeNames(t.Context(), shell, users[i-2], renamed(name))
				case i == 5:
					results[i] = w.users.Create(t.Context(), made)
				case i == 6:
					results[i] = w.users.AddAll(t.Context(), shell, audit.NeedsAdmin, []account.User{imported})
				default:
					_, results[i] = w.names().ChangeNames(t.Context(), shell, users[0], renamed("user0"))
				}
			})
			won := 0
			for i, err := range results[:7] {
				switch {
				case err == nil:
					won++
				case !errors.Is(err, account.ErrExists) && !errors.Is(err, account.ErrAliasTaken):
					t.Errorf("round %d, %d: %v", round, i, err)
				}
			}
			// One user may get it as an alias, and then as the username.
			both := results[1] == nil && results[3] == nil || results[2] == nil && results[4] == nil
			if won != 1 && (won != 2 || !both) {
				t.Errorf("round %d: %d got the name: %v", round, won, results)
			}
			w.agrees(t)
			if u, err := w.users.ByName(t.Context(), name); err == nil && (u.ID == made.ID || u.ID == imported.ID) {
				w.change(t, u.ID, renamed(fmt.Sprint("made", round)))
			}
			for i, user := range users {
				w.change(t, user, operator.NameChange{Username: new(fmt.Sprint("user", i)), Aliases: &[]string{}})
			}
		}
	})
}

// TestNamesAreSwapped: two users who want each other's names get them or not, and no name
// is of both.
func TestNamesAreSwapped(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada, bob := w.user(t, "ada@example.org"), w.user(t, "bob@example.org")
		for range 10 {
			atOnce(2, func(i int) {
				user, name := ada, "bob@example.org"
				if i == 1 {
					user, name = bob, "ada@example.org"
				}
				if _, err := w.names().ChangeNames(t.Context(), shell, user, renamed(name)); err != nil && !errors.Is(err, account.ErrExists) {
					t.Errorf("swap: %v", err)
				}
			})
			w.agrees(t)
		}
	})
}

// TestKeyRenamesPeopleOnly: a name of an admin is a way in.
func TestKeyRenamesPeopleOnly(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.service(t, "billing")
		root, ada := w.admin(t, "root"), w.user(t, "ada")
		by := func(scopes ...servicekey.Scope) audit.Actor {
			return audit.Actor{ID: s.user, Key: s.key(t, scopes...).ID, Name: "billing", Via: audit.ViaAPI}
		}
		try := func(actor audit.Actor, user idworker.ID) error {
			_, err := w.names().ChangeNames(t.Context(), actor, user, aliases("x@example.org"))
			return err
		}
		writer := by(servicekey.WriteUsers)
		for name, user := range map[string]idworker.ID{"an admin": root, "a service": s.user} {
			if err := try(writer, user); !errors.Is(err, operator.ErrProtected) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, ok := errors.AsType[*servicekey.ScopeError](try(by(servicekey.Verify, servicekey.Revoke, servicekey.ReadUsers), ada)); !ok {
			t.Error("a key without the scope changed a name")
		}
		if err := try(writer, ada); err != nil {
			t.Errorf("a person: %v", err)
		}
		must(t, s.revoke(t.Context(), writer.Key))
		if _, ok := errors.AsType[*servicekey.RefusedError](try(writer, ada)); !ok {
			t.Error("a key that was revoked: no error, or another")
		}
		if n := w.number(t, "SELECT COUNT(*) FROM user_names"); n != 1 {
			t.Errorf("%d aliases, want 1", n)
		}
	})
}

// TestPollBringsRenames: of logins that go on, in their rows with the new name at once.
func TestPollBringsRenames(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada, start := w.user(t, "ada"), time.Now().Add(-time.Minute)
		begun := w.begin(t, ada)
		if news := w.news(t, start); len(news.Renames) != 0 {
			t.Fatalf("before: %+v", news.Renames)
		}
		w.change(t, ada, aliases("ada@example.org"))
		w.change(t, ada, renamed("ada2"))
		first := w.news(t, start).Renames
		if len(first) != 1 || first[0].UserID != ada {
			t.Fatalf("after a rename: %+v", first)
		}
		w.change(t, ada, renamed("ada3"))
		if again := w.news(t, first[0].At.Add(time.Millisecond)).Renames; len(again) != 1 || !again[0].At.After(first[0].At) {
			t.Errorf("after another: %+v, the first was %+v", again, first)
		}
		if got, err := w.sessions.Get(t.Context(), begun.ID, session.Hash{}); err != nil || !got.Alive() || got.Username != "ada3" {
			t.Errorf("the login: %+v, %v", got, err)
		}
	})
}

// TestRenameKeepsTheBudget: nobody gets new guesses by a rename, and who takes the old name
// takes over no device.
func TestRenameKeepsTheBudget(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada := w.user(t, "ada")
		w.exec(t, "UPDATE users SET counted_by_id = 0 WHERE id = ?", int64(ada)) // of an earlier release
		g := w.limiter(t)
		tried := 0
		attempt := func(name string, credential ratelimit.DeviceCredential) (ratelimit.Taken, error) {
			tried++
			a := stranger("", tried)
			a.Credential = credential
			a.Whose = w.whose(name)
			return g.Login(t.Context(), a)
		}
		old, err := w.users.ByName(t.Context(), "ada")
		must(t, err)
		phone := g.NewDevice(ratelimit.Attempt{Account: old.CountedAs(), User: ada})
		if taken, err := attempt("ada", phone); err != nil || !taken.Device {
			t.Fatalf("the device of before: %+v, %v", taken, err)
		}
		w.change(t, ada, aliases("ada@example.org", "+4915112345678"))
		allowed := 0
		for i := range 120 { // over all names, and over a rename
			name := []string{"ada", "ada@example.org", "+4915112345678"}[i%3]
			if i == 50 {
				w.change(t, ada, renamed("ada2"))
			}
			if i >= 50 && name == "ada" {
				name = "ada2"
			}
			if _, err := attempt(name, ratelimit.DeviceCredential{}); err == nil {
				allowed++
			}
		}
		if allowed != 100 {
			t.Errorf("%d guesses over all names, want 100", allowed)
		}
		must(t, w.users.Create(t.Context(), account.User{ID: w.ids.next(0), Username: "ada", Role: account.RoleUser, PasswordVersion: 1, CountedByID: true}))
		if taken, err := attempt("ada", phone); err != nil || taken.Known {
			t.Errorf("the device of who had the name before: %+v, %v", taken.Known, err)
		}
	})
}

// TestImportNamesALineWithAnAlias: of somebody who is here, and loses no other line.
func TestImportNamesALineWithAnAlias(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.change(t, w.user(t, "ada"), aliases("ada@example.org"))
		var rejected []string
		im := w.importing(t, &rejected)
		done, err := im.Run(t.Context(), shell, slices.Values([]operator.Incoming{{Line: 1, Username: "Ada@example.org"}, {Line: 2, Username: "bob"}}))
		if err != nil || done.Added != 1 || done.Conflicts != 1 || len(rejected) == 0 || !strings.HasPrefix(rejected[0], "1 username") {
			t.Errorf("%+v, %v, rejected %v", done, err, rejected)
		}
	})
}

// TestImportedAliases: a user is found by them, an export has them, and the same lines again change
// nothing. A line with an alias of somebody else is in conflict, also where an instance of the
// previous release has made the other one, which is in no other table.
func TestImportedAliases(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		old := w.user(t, "old")
		w.exec(t, "UPDATE users SET username = 'old@example.org' WHERE id = ?", int64(old))
		lines := []operator.Incoming{
			{Line: 1, Username: "ada", Aliases: []string{"Ada@Example.org", "+4915112345678"}},
			{Line: 2, Username: "bob", Aliases: []string{"bob@example.org"}},
			{Line: 3, Username: "eve", Aliases: []string{"old@example.org"}},
			{Line: 4, Username: "mallory", Aliases: []string{"ada@example.org", "mallory@example.org"}},
		}
		for _, added := range []int64{2, 0} {
			var rejected []string
			done, err := w.importing(t, &rejected).Run(t.Context(), shell, slices.Values(lines))
			if err != nil || done.Added != added || done.Present != 2-added || done.Conflicts != 2 || !slices.Equal(rejected, []string{"3 aliases conflict", "4 aliases conflict"}) {
				t.Errorf("%+v, %v, rejected %q", done, err, rejected)
			}
		}
		// Without a look before, as in all batches but the first.
		user := account.User{ID: w.ids.next(0), Username: "carol", Role: account.RoleUser, PasswordVersion: 1, CreatedAt: time.Now(), UpdatedAt: time.Now()}
		for _, alias := range []string{"old@example.org", "ada@example.org"} {
			user.Aliases = []string{alias}
			if err := w.users.AddAll(t.Context(), shell, audit.NeedsAdmin, []account.User{user}); !errors.Is(err, account.ErrExists) {
				t.Errorf("%s: %v", alias, err)
			}
		}
		if u, err := w.users.ByName(t.Context(), "+4915112345678"); err != nil || u.Username != "ada" {
			t.Errorf("%+v, %v", u, err)
		}
		page, err := w.users.List(t.Context(), 0, 10)
		got := map[string][]string{}
		for _, u := range page {
			got[u.Username] = u.Aliases
		}
		want := map[string][]string{"old@example.org": nil, "ada": {"+4915112345678", "ada@example.org"}, "bob": {"bob@example.org"}}
		if err != nil || !maps.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestDeletedUserHasNoNames: a login finds the row of one who was deleted until the purge; a
// service does not, and nobody renames it.
func TestDeletedUserHasNoNames(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.admin(t, "root")
		ada := w.user(t, "ada")
		w.change(t, ada, aliases("ada@example.org"))
		if _, err := w.delete(t.Context(), ada, "ada"); err != nil {
			t.Fatal(err)
		}
		for _, q := range []operator.NameQuery{{Username: "ada"}, {Alias: "ada@example.org"}, {ID: ada}} {
			if u, err := w.names().Find(t.Context(), q); !errors.Is(err, account.ErrNotFound) {
				t.Errorf("%+v: %+v, %v", q, u, err)
			}
		}
		before := w.recorded(t, audit.UserRenamed)
		if _, err := w.names().ChangeNames(t.Context(), shell, ada, renamed("ada2")); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("renamed: %v", err)
		}
		if w.number(t, "SELECT COUNT(*) FROM users WHERE username = 'ada'") != 1 || w.recorded(t, audit.UserRenamed) != before {
			t.Error("the name is free before the purge")
		}
	})
}

// TestRepeatedRenameIsStampedAnew: the answer to the first was an error, and it may have been
// committed after the polls had passed its stamp.
func TestRepeatedRenameIsStampedAnew(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada, bob := w.user(t, "ada"), w.user(t, "bob")
		w.change(t, ada, renamed("ada2"))
		w.exec(t, "UPDATE users SET renamed_at = renamed_at - 8000 WHERE id = ?", int64(ada))
		since, events := time.Now().Add(-6*time.Second), w.recorded(t, audit.UserRenamed)
		w.change(t, ada, aliases("ada@example.org")) // is no repeat
		w.change(t, bob, renamed("bob"))             // was never renamed
		if news, err := w.sessions.News(t.Context(), since, time.Minute); err != nil || len(news.Renames) != 0 {
			t.Errorf("%+v, %v, want no rename", news.Renames, err)
		}
		w.change(t, ada, renamed("ada2"))
		if news, err := w.sessions.News(t.Context(), since, time.Minute); err != nil || len(news.Renames) != 1 || news.Renames[0].UserID != ada {
			t.Errorf("%+v, %v, want the rename of ada", news.Renames, err)
		}
		if n := w.recorded(t, audit.UserRenamed); n != events {
			t.Errorf("%d events, want %d", n, events)
		}
	})
}

// TestNextHolderTakesNoDeviceOver: whichever way the accounts were made.
func TestNextHolderTakesNoDeviceOver(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		g := w.limiter(t)
		create := func(name, _ string) {
			must(t, w.users.Create(t.Context(), account.User{ID: w.ids.next(0), Username: name, Role: account.RoleUser, PasswordVersion: 1, CountedByID: true}))
		}
		imported := func(name, external string) {
			var rejected []string
			done, err := w.importing(t, &rejected).Run(t.Context(), shell, slices.Values([]operator.Incoming{{Line: 1, Username: name, ExternalID: external}}))
			if err != nil || done.Added != 1 {
				t.Fatal(done, err, rejected)
			}
		}
		for name, make := range map[string]func(name, external string){"created": create, "imported": imported} {
			make(name, name+"1")
			first, err := w.users.ByName(t.Context(), name)
			must(t, err)
			phone := g.NewDevice(ratelimit.Attempt{Account: first.CountedAs(), User: first.ID})
			w.change(t, first.ID, renamed(name+".smith"))
			make(name, name+"2")
			a := stranger("", 7)
			a.Credential, a.Whose = phone, w.whose(name)
			if taken, err := g.Login(t.Context(), a); err != nil || taken.Device || taken.Known {
				t.Errorf("%s: the device of the first is one of the second: %+v, %v", name, taken, err)
			}
		}
	})
}

// TestPlaceOfANewcomerIsKnown: a login that makes the account was counted under the name that
// was typed; its place belongs to the account.
func TestPlaceOfANewcomerIsKnown(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		g := w.limiter(t)
		a := stranger("", 7)
		a.Whose = w.whose("ada")
		taken, err := g.Login(t.Context(), a)
		must(t, err)
		u := account.User{ID: w.ids.next(0), Username: "ada", Role: account.RoleUser, PasswordVersion: 1, CountedByID: true}
		must(t, w.users.Create(t.Context(), u))
		taken.Attempt.Account = u.CountedAs()
		g.LoggedIn(t.Context(), taken, u.ID)
		if taken, err = g.Login(t.Context(), a); err != nil || !taken.Known {
			t.Errorf("%+v, %v", taken, err)
		}
	})
}

// TestAliasesOfTwoAreKept: each adds one to the list that the other has not seen.
func TestAliasesOfTwoAreKept(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ada := w.user(t, "ada")
		w.change(t, ada, aliases("old@example.org"))
		var done sync.WaitGroup
		for i := range 2 {
			done.Go(func() {
				c := operator.NameChange{AddAliases: []string{fmt.Sprint("A", i, "@example.org")}, RemoveAliases: []string{"Old@example.org", "never@example.org"}}
				if _, err := w.names().ChangeNames(t.Context(), shell, ada, c); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
		if all, err := w.users.AliasesOf(t.Context(), ada); err != nil || !slices.Equal(all, []string{"a0@example.org", "a1@example.org"}) {
			t.Errorf("%v, %v", all, err)
		}
		w.change(t, ada, operator.NameChange{AddAliases: []string{"b@example.org", "c@example.org", "d@example.org"}})
		_, err := w.names().ChangeNames(t.Context(), shell, ada, operator.NameChange{AddAliases: []string{"e@example.org"}})
		if _, bad := errors.AsType[*invalid.Error](err); !bad {
			t.Errorf("a sixth: %v", err)
		}
	})
}
