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
	"github.com/flakepass/flakepass/internal/domain/account"
)

type userRole struct {
	because
	Name string `arg:"" help:"The username."`
	Role string `arg:"" help:"One of ${enum}." enum:"user,service,admin"`
}

func (c userRole) Run(a *app) error {
	return a.change(c.Name, client.UserChange{Role: &c.Role, Reason: c.Reason}, func(name string) string {
		return fmt.Sprintf("user %q has the role %s", name, c.Role)
	})
}

type userDisable struct {
	because
	Name string `arg:"" help:"The username."`
}

func (c userDisable) Run(a *app) error {
	yes := true
	return a.change(c.Name, client.UserChange{Disabled: &yes, Reason: c.Reason}, func(name string) string { return fmt.Sprintf("user %q disabled", name) })
}

type userEnable struct {
	because
	Name string `arg:"" help:"The username."`
}

func (c userEnable) Run(a *app) error {
	no := false
	return a.change(c.Name, client.UserChange{Disabled: &no, Reason: c.Reason}, func(name string) string { return fmt.Sprintf("user %q enabled", name) })
}

// change changes a user and says what came of it, and of the login.
func (a *app) change(name string, c client.UserChange, says func(name string) string) error {
	return a.acts(func(ctx context.Context, b backend) error {
		u, err := b.users.find(ctx, name)
		if err != nil {
			return err
		}
		ended, err := b.users.change(ctx, u, c)
		if either(err, account.ErrLastAdmin, client.LastAdmin) {
			return fmt.Errorf("%q is the last admin who is enabled; make another user one first: `%s user role NAME admin`", u.Username, b.command)
		}
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(a.out, says(u.Username))
		return a.say(ended, nil)
	})
}

type userSecondFactor struct {
	Remove userSecondFactorRemove `cmd:"" help:"Remove the second factor of a user who has lost it, and end all logins of the user."`
	Rekey  userSecondFactorRekey  `cmd:"" help:"Encrypt the stored secrets under the newest key."`
}

type userSecondFactorRemove struct {
	because
	Name string `arg:"" help:"The username."`
}

func (c userSecondFactorRemove) Run(a *app) error {
	return a.acts(func(ctx context.Context, b backend) error {
		u, err := b.users.find(ctx, c.Name)
		if err != nil {
			return err
		}
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
	})
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
func (a *app) confirm(what string) error {
	if _, ok := a.terminal(); !ok {
		return fmt.Errorf("%s Nothing was changed: there is no terminal to ask for a confirmation. If you are sure, say --yes", what)
	}
	if line, err := a.answer(what + "\nType yes to go on: "); err != nil || line != "yes" {
		return errors.New("not confirmed; nothing was changed")
	}
	return nil
}

// answer asks a person for one line, which the terminal shows. It fails if there is none, or
// if the command is to end.
func (a *app) answer(prompt string) (string, error) {
	type line struct {
		text string
		err  error
	}
	_, _ = fmt.Fprint(a.errs, prompt)
	typed := make(chan line, 1)
	go func() { // ends with the process, at the latest
		text, err := bufio.NewReader(a.in).ReadString('\n')
		typed <- line{strings.TrimSpace(text), err}
	}()
	select {
	case l := <-typed:
		return l.text, l.err
	case <-a.ctx.Done():
		_, _ = fmt.Fprintln(a.errs)
		return "", a.ctx.Err()
	}
}
