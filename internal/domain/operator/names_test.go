package operator_test

import (
	"context"
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
