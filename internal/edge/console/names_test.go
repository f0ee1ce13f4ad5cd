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
	"github.com/flakepass/flakepass/internal/domain/invalid"
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
	var all invalid.Error
	_, err := account.NormalizeAliases(c.AddAliases)
	for _, err := range []error{err, operator.CheckReason(c.Reason)} {
		if bad, is := errors.AsType[*invalid.Error](err); is {
			all.Fields = append(all.Fields, bad.Fields...)
		}
	}
	if len(all.Fields) > 0 {
		return account.User{}, &all
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
	n.err = nil
	for sent, says := range map[string][]string{
		"+4915112345678\n\nno alias\r\na@example.org\nx@y\u0430.org": {"Line 3: Each alias must be a mail address", "Line 5: An alias must not mix letters", "Reason must have no control characters"},
		"a@b.c d@e.f g@h.i\nj@k.l m@n.o p@q.r":                       {"There can be at most 5 aliases."},
	} {
		page := w.sendForm(c, "/console/users/8", "do", "names", "aliases", sent, "had", "+4915112345678", "was", "user001", "username", "user001", "reason", "a\x01")
		wantStatus(t, page, 422)
		wantText(t, page, says...)
		wantNoText(t, page, "Line 1:", "Line 2:", "Line 4:")
		if n := strings.Count(page.Body.String(), "Line 3:"); n > 1 {
			t.Errorf("line 3 is named %d times", n)
		}
	}
	for err, says := range map[error]string{account.ErrAliasTaken: "Another user has one of these aliases.", account.ErrExists: "taken"} {
		n.err = err
		page := w.sendForm(c, "/console/users/8", sent...)
		wantStatus(t, page, 409)
		wantText(t, page, says)
	}
}
