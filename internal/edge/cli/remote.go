package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/internal/domain/account"
)

// The commands below remote do over HTTP what those without it do in the database:
// most are the same commands, at another place. They read no setting.
type remoteCommand struct {
	Insecure bool `help:"Call a server over http:// that is not on this machine."`

	Login          remoteLogin          `cmd:"" help:"Log in to a server, and keep the login for the commands below."`
	Logout         remoteLogout         `cmd:"" help:"Log out, and forget the login."`
	Reauthenticate remoteReauthenticate `cmd:"" help:"Show your password and a code once more, for what a login alone is not enough for."`
	Whoami         remoteWhoami         `cmd:"" help:"Show which server, and as whom."`
	Policy         policyCommand        `cmd:"" help:"Show and change how long logins last."`
	User           remoteUser           `cmd:"" help:"Add, list, disable, enable and log out users; set roles."`
	Session        sessionCommand       `cmd:"" help:"List and end logins."`
	LogoutAll      remoteLogoutAll      `cmd:"" name:"logout-all" help:"End every login that has begun so far, this one too."`
	Audit          auditCommand         `cmd:"" help:"Show who did what, the newest first."`
	Sweep          remoteSweep          `cmd:"" help:"Have the server clear logins that are over, and wait for it."`
	Instances      remoteInstances      `cmd:"" help:"Show which instances run, and how each is doing."`
	Stats          remoteStats          `cmd:"" help:"Count users and living logins."`
}

// AfterApply is called by kong.
func (c *remoteCommand) AfterApply(a *app) error {
	a.remote, a.insecure = true, c.Insecure
	return nil
}

// A counter is a server elsewhere, at which an operator stands.
type counter struct {
	*apiclient.Client
	target
}

// remotely runs f at the server that the environment or the file names: twice, if the
// server wants password and code in between.
func (a *app) remotely(f func(ctx context.Context, s counter) error) error {
	t, err := findTarget()
	if err != nil {
		return err
	}
	c, err := a.calls(t.URL)
	if err != nil {
		return err
	}
	return remoteError(a.proving(a.ctx, counter{c.As(t.Token), t}, f))
}

func (a *app) calls(url string) (*apiclient.Client, error) {
	if err := checkURL(url, a.insecure); err != nil {
		return nil, err
	}
	return apiclient.New(apiclient.Options{URL: url, Retries: 2})
}

// remoteError is what a server said, with what to do about it here.
func remoteError(err error) error {
	p, told := errors.AsType[*apiclient.Problem](err)
	switch {
	case !told:
	case p.Status == http.StatusUnauthorized && p.Code != apiclient.CredentialsInvalid && p.Code != "":
		return fmt.Errorf("%w; say `flakepass remote login URL NAME`", err)
	case p.RetryAfter > 0:
		return fmt.Errorf("%w; try again in %v", err, p.RetryAfter)
	case p.Code == apiclient.InternalError && p.RequestID != "":
		return fmt.Errorf("%w; the server's log has it under %s", err, p.RequestID)
	}
	return err
}

// user looks a user up by the name as a person types it, with the login that
// lives.
func (s counter) user(ctx context.Context, name string) (apiclient.Person, error) {
	normal, err := account.NormalizeUsername(name)
	if err != nil {
		return apiclient.Person{}, err
	}
	for u, err := range s.Users(ctx, normal) { // the shortest comes first
		if err != nil {
			return apiclient.Person{}, err
		}
		if u.Username == normal {
			return s.User(ctx, u.ID)
		}
		break
	}
	return apiclient.Person{}, fmt.Errorf("no user %q; `flakepass remote user list` shows all", normal)
}
