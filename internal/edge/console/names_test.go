package console_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/edge/verb"
)

// A namer changes the names of everybody, after a proof.
type namer struct {
	verb.Names
	w     *world
	err   error
	calls []string
}

func (n *namer) ChangeNames(_ context.Context, by audit.Actor, id idworker.ID, c operator.NameChange) (account.User, error) {
	if err := errors.Join(n.err, n.w.proof()); err != nil {
		return account.User{}, err
	}
	n.calls = append(n.calls, fmt.Sprint(id, " ", c.Username != nil && *c.Username == "ada2", " ", c.AddAliases, " ", c.RemoveAliases, " ", c.Reason, " by ", by.Name))
	return account.User{}, nil
}

func TestNamesAreChanged(t *testing.T) {
	w := newWorld(t)
	crowd := w.populate(2)
	crowd.users[1].Aliases = []string{"+4915112345678", "<b>@example.org"}
	n := &namer{w: w}
	w.ui.People.Names = n
	w.h = w.ui.Handler()
	c := w.enter()
	page := w.see(c, "/console/users/8")
	wantText(t, page, `value="user001"`, "4915112345678")
	if strings.Contains(page.Body.String(), "<b>@") {
		t.Error("an alias is markup")
	}
	w.unproven = true
	sent := []string{"do", "names", "username", "ada2", "aliases", " ada@example.org\r\n+4915112345678\r\n", "was", "user001", "had", "+4915112345678\n<b>@example.org", "reason", "asked"}
	page = w.sendForm(c, "/console/users/8", sent...)
	wantStatus(t, page, 403)
	wantText(t, page, `value="ada2"`, `name="was" value="user001"`, "ada@example.org", `name="confirm_password"`, `value="asked"`)
	page = w.sendForm(c, "/console/users/8", append(sent, "confirm_password", passphrase)...)
	if page.Code != 303 || page.Header().Get("Location") != "/console/users/8?done=names" || len(n.calls) != 1 || n.calls[0] != "8 true [ada@example.org] [<b>@example.org] asked by ada" {
		t.Fatalf("%d to %s, %v", page.Code, page.Header().Get("Location"), n.calls)
	}
	wantText(t, w.see(c, "/console/users/8?done=names"), "The names are changed.")
	// What the page shows stays, also if it is old.
	w.sendForm(c, "/console/users/8", "do", "names", "username", "user001", "was", "user001", "aliases", "x@y.org", "had", "x@y.org z@y.org", "confirm_password", passphrase)
	if want := "8 false [] [z@y.org]  by ada"; len(n.calls) != 2 || n.calls[1] != want {
		t.Errorf("%v, want %q", n.calls, want)
	}
	for err, says := range map[error]string{account.ErrAliasTaken: "Another user has one of these aliases.", account.ErrExists: "taken"} {
		n.err = err
		page := w.sendForm(c, "/console/users/8", sent...)
		wantStatus(t, page, 409)
		wantText(t, page, says)
	}
}
