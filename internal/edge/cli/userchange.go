package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
)

type userRole struct {
	named
	Role string `arg:"" help:"One of ${enum}." enum:"user,service,admin"`
}

func (c userRole) Run(a *app) error {
	return a.change(c.Name, client.UserChange{Role: &c.Role, Reason: c.Reason}, func(name string) string {
		return fmt.Sprintf("user %q has the role %s", name, c.Role)
	})
}

// A named is the name of a user, and why something is done to the user.
type named struct {
	because
	Name string `arg:"" help:"The username, or an alias."`
}

type userDisable struct{ named }

func (c userDisable) Run(a *app) error {
	return a.change(c.Name, client.UserChange{Disabled: new(true), Reason: c.Reason}, func(name string) string { return fmt.Sprintf("user %q disabled", name) })
}

type userEnable struct{ named }

func (c userEnable) Run(a *app) error {
	return a.change(c.Name, client.UserChange{Disabled: new(false), Reason: c.Reason}, func(name string) string { return fmt.Sprintf("user %q enabled", name) })
}

// change changes a user and says what came of it, and of the login.
func (a *app) change(name string, c client.UserChange, says func(name string) string) error {
	return a.acts(ofUser(name, func(ctx context.Context, b backend, u wire.Person) error {
		ended, err := b.users.change(ctx, u, c)
		if err != nil {
			return b.refused(err, u)
		}
		done := says(u.Username)
		if (c.Role == nil || *c.Role == u.Role) && (c.Disabled == nil || *c.Disabled != u.DisabledAt.IsZero()) {
			done += " already; nothing was changed, and nothing is on record"
		}
		_, _ = fmt.Fprintln(a.out, done)
		return a.say(ended, nil)
	}))
}

// refused is why a change of u failed, as a person reads it.
func (b backend) refused(err error, u wire.Person) error {
	if either(err, account.ErrLastAdmin, client.LastAdmin) {
		return fmt.Errorf("%q is the last admin who is enabled; make another user one first: `%s user role NAME admin`", u.Username, b.command)
	}
	return err
}

type userSecondFactor struct {
	Remove userSecondFactorRemove `cmd:"" help:"Remove the second factor of a user who has lost it, and end all logins of the user."`
	Rekey  userSecondFactorRekey  `cmd:"" help:"Encrypt the stored secrets under the newest key."`
}

type userSecondFactorRemove struct{ named }

func (c userSecondFactorRemove) Run(a *app) error {
	return a.acts(ofUser(c.Name, func(ctx context.Context, b backend, u wire.Person) error {
		if !u.HasFactor {
			_, err := fmt.Fprintf(a.out, "user %q has no second factor\n", printable(u.Username))
			return err
		}
		ended, err := b.users.removeFactor(ctx, u, c.Reason)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(a.out, "second factor of %q removed; a password of fewer than 15 characters opens nothing now, and has to be set anew\n", printable(u.Username))
		return a.say(ended, nil)
	}))
}

// terminal is standard input, if a person sits there.
func (a *app) terminal() (*os.File, bool) {
	f, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, false
	}
	return f, true
}

// confirm asks a person to go on with what cannot be undone, and takes only the
// whole word yes. Without a terminal it fails: a script says --yes.
func (a *app) confirm(what string) error { return a.confirmBy(what, "yes", "yes") }

// confirmBy takes only that word, of which the question says what it is.
func (a *app) confirmBy(what, is, word string) error {
	if _, ok := a.terminal(); !ok {
		return fmt.Errorf("%s Nothing was changed: there is no terminal to ask for a confirmation. If you are sure, say --yes", what)
	}
	if line, err := a.answer(what + "\nType " + is + " to go on: "); err != nil || line != word {
		return errors.New("not confirmed; nothing was changed")
	}
	return nil
}

// answer asks a person for one line, which the terminal shows. It fails if there is none, or
// if the command is to end.
func (a *app) answer(prompt string) (string, error) {
	text, err := a.ask(prompt, func() (string, error) { return bufio.NewReader(a.in).ReadString('\n') })
	return strings.TrimSpace(text), err
}

// ask waits for what a person types, or until the command is to end: the signal of Ctrl-C
// does not end a read.
func (a *app) ask(prompt string, read func() (string, error)) (string, error) {
	type line struct {
		text string
		err  error
	}
	_, _ = fmt.Fprint(a.errs, prompt)
	typed := make(chan line, 1)
	go func() { // ends with the process, at the latest
		text, err := read()
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		return l.text, l.err
	case <-a.ctx.Done():
		_, _ = fmt.Fprintln(a.errs)
		return "", errInterrupted
	}
}

var errInterrupted = errors.New("interrupted before an answer; nothing was changed")

type userDelete struct {
	named
	Yes bool `help:"Do not ask for the username once more."`
}

// Run deletes a user after the name was typed once more. Another may have got the name of the command while a
// person was asked: an alias, or the username after a rename.
func (c userDelete) Run(a *app) error {
	var confirmed wire.ID
	if !c.Yes {
		if err := a.looks(ofUser(c.Name, func(ctx context.Context, b backend, u wire.Person) error {
			confirmed = u.ID
			// The name, as a confirmation of what cannot be undone.
			return a.confirmBy(fmt.Sprintf("About to delete the user %q, ID %s. It cannot be undone.", printable(u.Username), u.ID), "the username", u.Username)
		})); err != nil {
			return err
		}
	}
	return a.acts(ofUser(c.Name, func(ctx context.Context, b backend, u wire.Person) error {
		if !c.Yes && u.ID != confirmed {
			return fmt.Errorf("%q is another user by now, ID %s; nothing was changed", printable(c.Name), u.ID)
		}
		ended, err := b.accounts.deleteUser(ctx, u, c.Reason)
		if err != nil {
			return b.refused(err, u)
		}
		_, _ = fmt.Fprintf(a.out, "user %q, ID %s, deleted; the name is free after the purge\n", printable(u.Username), u.ID)
		return a.say(ended, nil)
	}))
}

func (l *local) deleteUser(ctx context.Context, u wire.Person, reason string) (string, error) {
	return l.over(l.operators.Users.Delete(ctx, commandActor(), idworker.ID(u.ID), u.Username, reason))
}

func (s remoteServer) deleteUser(ctx context.Context, u wire.Person, reason string) (string, error) {
	within, err := s.DeleteUser(ctx, u.ID, u.Username, reason)
	return endedThere(u, within), err
}
