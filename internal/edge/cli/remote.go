package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
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
	Key            keyCommand           `cmd:"" help:"Make, list and revoke the keys of services."`
	LogoutAll      remoteLogoutAll      `cmd:"" name:"logout-all" help:"End every login that has begun so far, this one too."`
	Audit          auditCommand         `cmd:"" help:"Show who did what, the newest first."`
	Sweep          remoteSweep          `cmd:"" help:"Have the server clear logins that are over, and wait for it."`
	Instances      remoteInstances      `cmd:"" help:"Show which instances run, and how each is doing."`
	Stats          remoteStats          `cmd:"" help:"Count users and living logins."`
}

func (c *remoteCommand) AfterApply(a *app) error {
	a.remote, a.insecure = true, c.Insecure
	return nil
}

// A remoteServer is a server elsewhere, and the login with which it is called.
type remoteServer struct {
	*client.Client
	target
}

// remotely runs f at the server that the environment or the file names: twice, if the
// server wants password and code in between.
func (a *app) remotely(f func(ctx context.Context, s remoteServer) error) error {
	t, err := findTarget()
	if err != nil {
		return err
	}
	c, err := a.calls(t.URL)
	if err != nil {
		return err
	}
	return remoteError(a.proving(a.ctx, remoteServer{c.As(t.Token), t}, f))
}

func (a *app) calls(url string) (*client.Client, error) {
	if err := checkURL(url, a.insecure); err != nil {
		return nil, err
	}
	return client.New(client.Options{URL: url, Retries: 2})
}

// remoteError is what a server said, with what to do about it here.
func remoteError(err error) error {
	p, answered := errors.AsType[*client.Problem](err)
	switch {
	case !answered:
	case p.Status == http.StatusUnauthorized && p.Code == client.AccountDisabled:
		return fmt.Errorf("%w; ask another admin to enable it", err)
	case p.Status == http.StatusUnauthorized && p.Code != client.CredentialsInvalid && p.Code != "":
		return fmt.Errorf("%w; say `flakepass remote login URL NAME`", err)
	case p.RetryAfter > 0:
		return fmt.Errorf("%w; try again in %v", err, p.RetryAfter)
	case p.Code == client.InternalError && p.RequestID != "":
		return fmt.Errorf("%w; the server's log has it under %s", err, p.RequestID)
	}
	return err
}

// find looks a user up by the name as a person types it, the username or an alias, with the
// login that lives.
func (s remoteServer) find(ctx context.Context, name string) (wire.Person, error) {
	normal, err := account.NormalizeLogin(name)
	if err != nil {
		return wire.Person{}, err
	}
	unknown := fmt.Errorf("no user %q; `flakepass remote user list` shows all", normal)
	for u, err := range s.Users(ctx, normal) { // the username comes first, who has it as an alias last
		if err != nil {
			return wire.Person{}, err
		}
		switch {
		case u.Username == normal:
			return s.User(ctx, u.ID)
		case !account.CouldBeAlias(normal):
			return wire.Person{}, unknown
		case !strings.HasPrefix(u.Username, normal):
			if p, err := s.User(ctx, u.ID); err != nil || slices.Contains(p.Aliases, normal) {
				return p, err
			}
		}
	}
	return wire.Person{}, unknown
}

type remoteUser struct {
	Add     userAdd       `cmd:"" help:"Add a user."`
	List    userList      `cmd:"" help:"List all users, in the order in which they came."`
	Role    userRole      `cmd:"" help:"Give a user another role, and end all logins of the user."`
	Rename  userRename    `cmd:"" help:"Give a user another username. No login ends."`
	Alias   userAlias     `cmd:"" help:"Let a user log in with a mail address or phone number, too."`
	Disable userDisable   `cmd:"" help:"Keep a user from logging in, and end all logins of the user."`
	Enable  userEnable    `cmd:"" help:"Let a disabled user log in again."`
	Reset   userReset     `cmd:"" help:"Give a user a one-time link to set a password, or take it back."`
	Links   userLinks     `cmd:"" help:"List the one-time links that work now, or take back all that a user gave out."`
	Logout  userLogoutOne `cmd:"" help:"End a user's logins."`
	Delete  userDelete    `cmd:"" help:"Delete a user, and end all logins of the user."`

	Impersonate userImpersonate `cmd:"" help:"Act for a user, for support, for an hour at most."`

	SecondFactor remoteUserSecondFactor `cmd:"" help:"Remove a second factor that was lost."`
}

type remoteUserSecondFactor struct {
	Remove userSecondFactorRemove `cmd:"" help:"Remove the second factor of a user who has lost it, and end all logins of the user."`
}

// A deviceFile has what shows at the next login that this machine was logged in to
// an account. It is beside the file with the token, and outlives a logout.
type deviceFile struct {
	URL        string `json:"url"`
	Username   string `json:"username"`
	Credential string `json:"device_credential"`
}

func devicePath() (string, error) {
	path, err := targetPath()
	return filepath.Join(filepath.Dir(path), "remote-device.json"), err
}

// readDevice is what was kept of that account at that server, or none: a login
// works without it.
func readDevice(url, name string) client.DeviceCredential {
	var f deviceFile
	path, err := devicePath()
	if err != nil {
		return client.DeviceCredential{}
	}
	b, err := os.ReadFile(path) //nolint:gosec // of this user's configuration
	if err != nil || json.Unmarshal(b, &f) != nil || f.URL != url || !sameName(f.Username, name) {
		return client.DeviceCredential{}
	}
	return client.NewDeviceCredential(f.Credential)
}

// writeDevice keeps what a login has brought, if the server gives such a thing.
func writeDevice(url, name string, c client.DeviceCredential) error {
	path, err := devicePath()
	if err != nil || c.Reveal() == "" {
		return err
	}
	return writePrivate(path, deviceFile{url, name, c.Reveal()})
}
