package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/account"
)

type remoteLogin struct {
	URL           string `arg:"" help:"Where the server answers, such as https://auth.example.org."`
	Name          string `arg:"" help:"The username, of an admin."`
	PasswordStdin bool   `help:"Read the password from standard input instead of asking for it."`
	Code          string `help:"A code of the second factor, or a recovery code, if the account has one." placeholder:"CODE"`
	EndSession    string `help:"A login of the account that ends for this one, where there may be no more." placeholder:"ID"`
}

func (c remoteLogin) Run(a *app) error {
	api, err := a.calls(c.URL)
	if err != nil {
		return err
	}
	who := client.Credentials{Username: c.Name, Code: c.Code}
	switch old, err := readTarget(); {
	case err == nil && (old.URL != c.URL || !sameName(old.Username, c.Name)): // it would live on, and could not be ended from here
		return fmt.Errorf("still logged in to %s as %s; say `flakepass remote logout` first", printable(old.URL), printable(old.Username))
	case err == nil:
		who.Last = old.Token
	case !errors.Is(err, errNotLoggedIn): // the login in that file would live on, and could not be ended from here
		return err
	}
	who.DeviceCredential = readDevice(c.URL, c.Name)
	who.Device = thisMachine()
	text, err := a.typed(c.PasswordStdin)
	if err != nil {
		return err
	}
	who.Password = client.NewPassword(text)
	if c.EndSession != "" {
		if who.EndSession, err = wire.ParseID(c.EndSession); err != nil {
			return fmt.Errorf("--end-session: %q is no ID of a login", c.EndSession)
		}
	}
	in, err := a.begin(api, who)
	if errors.Is(err, client.SecondFactorRequired) {
		return errors.New("the account has a second factor; say it again with --code and the code that the app shows, or a recovery code")
	}
	if err != nil {
		return remoteError(err)
	}
	mine := api.As(in.Token)
	me, err := mine.Me(a.ctx)
	if err == nil {
		err = writeTarget(target{c.URL, me.Username, in.Token})
	}
	if err == nil {
		err = writeDevice(c.URL, me.Username, in.DeviceCredential)
	}
	if err != nil { // a login that cannot be used is none
		_, _ = mine.Logout(context.WithoutCancel(a.ctx))
		return remoteError(err)
	}
	_, _ = fmt.Fprintf(a.out, "logged in to %s as %s, role %s\n", c.URL, printable(me.Username), printable(me.Role))
	if me.Role != string(account.RoleAdmin) {
		_, _ = fmt.Fprintln(a.errs, "flakepass: the server takes the commands of an operator from the role admin only")
	}
	return nil
}

// begin logs in. It fails as [client.Client.Login] does.
func (a *app) begin(api *client.Client, who client.Credentials) (client.Login, error) {
	in, err := api.Login(a.ctx, who)
	if wrong, ok := errors.AsType[*client.Problem](err); ok && slices.ContainsFunc(wrong.Errors, func(f wire.FieldError) bool { return f.Field == "device.class" }) {
		who.Device.Class = "" // the policy has no such class
		in, err = api.Login(a.ctx, who)
	}
	if full, ok := errors.AsType[*client.Problem](err); ok && full.Code == client.SessionLimit {
		return a.instead(api, who, full)
	}
	return in, err
}

// instead begins a login of an account that may have no more, in place of the one that a person
// chooses. Password and code were right: the ticket stands for both, and the code is used up.
func (a *app) instead(api *client.Client, who client.Credentials, full *client.Problem) (client.Login, error) {
	for _, s := range full.Sessions {
		_, _ = fmt.Fprintf(a.errs, "%s  %s  last seen %s\n", s.ID, deviceText(s.Device), s.LastSeenAt.Format(time.RFC3339))
	}
	const many = "the account has as many logins as are allowed"
	if _, ok := a.terminal(); !ok {
		return client.Login{}, errors.New(many + "; say it again with --end-session and the ID of one. A code is used up: " +
			"give a new one of the app, and keep the recovery codes; on a terminal the command asks for the ID, and for no other code")
	}
	_, _ = fmt.Fprintln(a.errs, "flakepass: "+many)
	for {
		text, err := a.answer("ID of the one that ends: ")
		if err != nil {
			return client.Login{}, fmt.Errorf("%s, and none was chosen: %w", many, err)
		}
		id, err := wire.ParseID(text)
		if err == nil && slices.ContainsFunc(full.Sessions, func(s wire.MySession) bool { return s.ID == id }) {
			return api.Login(a.ctx, client.Credentials{Ticket: full.Ticket, EndSession: id, Device: who.Device, DeviceCredential: who.DeviceCredential, Last: who.Last})
		}
		_, _ = fmt.Fprintln(a.errs, "It is none of them.")
	}
}

// thisMachine is what an operator sees of this login in a list.
func thisMachine() wire.Device {
	host, _ := os.Hostname() // without a name it is a command line all the same
	return wire.Device{Class: "desktop", Name: strings.TrimSpace("flakepass remote " + host)}
}

// sameName compares a name as the server keeps it with one that was typed.
func sameName(kept, typed string) bool {
	normal, err := account.NormalizeUsername(typed)
	return err == nil && normal == kept
}

type remoteLogout struct {
	Forget bool `help:"Only forget the login, which goes on at the server until it is over."`
}

func (c remoteLogout) Run(a *app) error {
	if c.Forget {
		if err := forgetTarget(); err != nil {
			return err
		}
		_, err := fmt.Fprintln(a.out, "forgotten; the login goes on at the server until it is over")
		return err
	}
	return a.remotely(func(ctx context.Context, s remoteServer) error {
		within, err := s.Logout(ctx)
		p, answered := errors.AsType[*client.Problem](err)
		if err != nil && (!answered || p.Status != http.StatusUnauthorized || p.Code == "") {
			return fmt.Errorf("%w. The login may go on; say it again, or `flakepass remote logout --forget`", err)
		}
		if s.Username != "" { // of the file, not of the environment
			if err := forgetTarget(); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(a.out, "logged out, %s\n", everywhere(within))
		return err
	})
}

// everywhere is by when every instance acts by what was done: at once if the server
// could notify the others, else within.
func everywhere(within time.Duration) string {
	if within == 0 {
		return "on every instance as soon as the message arrives, within the revocation bound of the server at the latest"
	}
	return fmt.Sprintf("within %v on every instance", within)
}

type remoteWhoami struct {
	JSON bool `help:"Print JSON."`
}

func (c remoteWhoami) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s remoteServer) error {
		me, err := s.Me(flakepass.NewPassiveContext(ctx)) // to ask is no use
		if err != nil {
			return err
		}
		l := me.Session
		return show(a.out, c.JSON, struct {
			URL           string    `json:"url"`
			Username      string    `json:"username"`
			Role          string    `json:"role"`
			SessionID     wire.ID   `json:"session_id"`
			IssuedAt      wire.Time `json:"issued_at"`
			ExpiresAt     wire.Time `json:"expires_at"`
			IdleExpiresAt wire.Time `json:"idle_expires_at"`
		}{s.URL, me.Username, me.Role, l.ID, l.IssuedAt, l.ExpiresAt, l.IdleExpiresAt}, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "server\t%s\nusername\t%s\nrole\t%s\nlogin\t%s\nsince\t%s\nexpires\t%s\nidle at\t%s\n", s.URL, printable(me.Username),
				printable(me.Role), l.ID, l.IssuedAt.Format(time.RFC3339), l.ExpiresAt.Format(time.RFC3339), l.IdleExpiresAt.Format(time.RFC3339))
		})
	})
}

type remoteReauthenticate struct {
	PasswordStdin bool   `help:"Read the password from standard input instead of asking for it."`
	Code          string `help:"A code of the second factor, or a recovery code, if the account has one." placeholder:"CODE"`
}

func (c remoteReauthenticate) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s remoteServer) error {
		text, err := a.typed(c.PasswordStdin)
		if err != nil {
			return err
		}
		if err := s.Reauthenticate(ctx, client.NewPassword(text), c.Code); err != nil {
			if errors.Is(err, client.CurrentCodeInvalid) {
				err = fmt.Errorf("%w; give --code with the code that the app shows, or a recovery code", err)
			}
			return err
		}
		_, err = fmt.Fprintln(a.out, "password and code were shown; for ten minutes no command asks for them again")
		return err
	})
}

// proving runs f, and, where the server wants password and code first, asks a person
// for them and runs f once more. Such a request has done nothing. Without a terminal
// the error says what a script does.
func (a *app) proving(ctx context.Context, s remoteServer, f func(ctx context.Context, s remoteServer) error) error {
	err := f(ctx, s)
	if !errors.Is(err, client.ReauthenticationRequired) {
		return err
	}
	if _, ok := a.terminal(); !ok {
		return fmt.Errorf("%w. Nothing was done; say `flakepass remote reauthenticate --password-stdin` first, with --code if there is a second factor, and this again within ten minutes", err)
	}
	_, _ = fmt.Fprintln(a.errs, "The server wants your own password once more for this.")
	text, err := a.hidden("Your password: ")
	if err != nil {
		return err
	}
	err = s.Reauthenticate(ctx, client.NewPassword(text), "")
	if errors.Is(err, client.CurrentCodeInvalid) {
		code, asked := a.hidden("Code of the second factor: ")
		if asked != nil {
			return asked
		}
		err = s.Reauthenticate(ctx, client.NewPassword(text), code)
	}
	if err != nil {
		return err
	}
	return f(ctx, s)
}
