package operator_test

import (
	"context"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
)

// A namer is a store that keeps what it was asked for.
type namer struct {
	operator.NameStore
	need   audit.Need
	events []audit.Event
	again  int
	away   error // of RenamedAgain
}

func (n *namer) RenamedAgain(context.Context, idworker.ID) error { n.again++; return n.away }

func (n *namer) ChangeNames(_ context.Context, _ audit.Actor, need audit.Need, id idworker.ID,
	decide func(account.User) (account.User, []audit.Event, error)) (before, after account.User, err error) {
	n.need = need
	before = account.User{ID: id, Username: "ada", Role: account.RoleUser, Aliases: []string{"ada@example.org"}}
	after, n.events, err = decide(before)
	return before, after, err
}

func (*namer) AliasesOf(context.Context, idworker.ID) ([]string, error) { return nil, nil }

type knows struct{ account.Users }

func (knows) ByID(_ context.Context, id idworker.ID) (account.User, error) {
	return account.User{ID: id, Username: "ada"}, nil
}

type counting struct{ last idworker.ID }

func (c *counting) Next(context.Context) (idworker.ID, error) { c.last++; return c.last, nil }

// TestNamesNeedAProof: of an admin, in every event; a service key has its scope.
func TestNamesNeedAProof(t *testing.T) {
	n, told := &namer{}, 0
	u := &operator.Users{Names: n, Known: knows{}, IDs: &counting{}, Sessions: &operator.Sessions{}, Renamed: func() { told++ }}
	to := "ada@example.org"
	admin, key := audit.Actor{ID: 1, Session: 2, Via: audit.ViaAPI}, audit.Actor{ID: 3, Key: 4, Via: audit.ViaAPI}
	for by, want := range map[audit.Actor]audit.Need{admin: audit.NeedsProof, key: audit.NeedsService} {
		if _, err := u.ChangeNames(t.Context(), by, 7, operator.NameChange{Username: &to}); err != nil || n.need != want || len(n.events) != 1 {
			t.Fatalf("%v, need %v, %d events", err, n.need, len(n.events))
		}
		if e := n.events[0]; e.Action != audit.UserRenamed || e.Need != want || e.Target.Name != "ada" || string(e.Old) != `{"username":"ada"}` { // the alias stays one
			t.Errorf("event %+v", e)
		}
		if _, err := u.ChangeNames(t.Context(), by, 7, operator.NameChange{RemoveAliases: []string{to}}); err != nil || len(n.events) != 1 ||
			n.events[0].Action != audit.AliasesChanged || n.events[0].Need != want || string(n.events[0].New) != `{"aliases":[]}` {
			t.Errorf("%v, events %+v", err, n.events)
		}
	}
	same := "ADA"
	if _, err := u.ChangeNames(t.Context(), admin, 7, operator.NameChange{Username: &same, Aliases: &[]string{"Ada@example.org"}}); err != nil || len(n.events) != 0 || told != 3 || n.again != 1 {
		t.Errorf("what is so already: %v, %d events, told %d times", err, len(n.events), told)
	}
	if _, err := u.ChangeNames(t.Context(), key, 7, operator.NameChange{Reason: "none"}); err == nil {
		t.Error("a key reads a user by changing nothing")
	}
	if _, err := u.ChangeNames(t.Context(), admin, 7, operator.NameChange{Username: new("a b"), Aliases: &[]string{"x"}}); err == nil {
		t.Error("names that are none")
	}
}

// aliased knows one user, with one alias.
type aliased struct {
	account.Users
	operator.NameStore
	user account.User
}

func (a *aliased) ByName(_ context.Context, name string) (account.User, error) {
	if name != a.user.Aliases[0] && name != a.user.Username {
		return account.User{}, account.ErrNotFound
	}
	return account.User{ID: a.user.ID, Username: a.user.Username, Deleted: a.user.Deleted}, nil
}

func (a *aliased) AliasesOf(context.Context, idworker.ID) ([]string, error) {
	return a.user.Aliases, nil
}

// Operators know people by their addresses and numbers, too. Such a user is the last of the
// list of the names that begin so, and once in it.
func TestListByNameHasWhoHasItAsAnAlias(t *testing.T) {
	d := newDesk(t)
	for _, name := range []string{"bob@example.org", "bob@example.org2", "carol", "bob@example.or"} {
		d.add(name, account.RoleUser)
	}
	for _, tt := range []struct {
		username, alias, prefix string
		limit                   int
		deleted                 bool
		want                    string
	}{
		{"carol", "+4915112345678", "+4915112345678", 5, false, "carol"},
		{"carol", "+4915112345678", "+491511234567", 5, false, ""},
		{"carol", "o'neill@example.org", " O'Neill@Example.org", 5, false, ""},
		{"carol", "o'neill@example.org", "O'Neill@Example.org", 5, false, "carol"},
		{"carol", "bob@example.or", "bob@example.or", 5, false, "bob@example.or bob@example.org bob@example.org2 carol"},
		{"carol", "bob@example.or", "bob@example.or", 2, false, "bob@example.or bob@example.org bob@example.org2 carol"},
		{"carol", "bob@example.or", "bob@example.or", 3, false, "bob@example.or bob@example.org bob@example.org2 carol"},
		{"bob@example.org2", "bob@example.or", "bob@example.or", 3, false, "bob@example.or bob@example.org bob@example.org2"},
		{"carol", "dave@example.org", "dave@example.org", 5, true, ""},
	} {
		a := &aliased{user: account.User{ID: 9, Username: tt.username, Aliases: []string{tt.alias}, Deleted: tt.deleted}}
		d.users.Known, d.users.Names = a, a
		var got []string
		for after, more := "", true; more; {
			page, err := d.users.List(t.Context(), tt.prefix, after, tt.limit+1)
			if err != nil {
				t.Fatal(err)
			}
			if more = len(page) > tt.limit; more {
				page = page[:tt.limit]
				after = operator.UserCursor(tt.prefix, &page[tt.limit-1])
			}
			for _, u := range page {
				if got = append(got, u.Username); u.Aliases != nil {
					t.Error("a list has aliases")
				}
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q, %d a page: %q, want %q", tt.prefix, tt.limit, got, tt.want)
		}
	}
}
