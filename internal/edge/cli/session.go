package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

type sessionCommand struct {
	List sessionList `cmd:"" help:"List the logins that live, newest first."`
	End  sessionEnd  `cmd:"" help:"End one login."`
}

type sessionList struct {
	User string `help:"Only the logins of this user." placeholder:"NAME"`
	onDevice
	Limit int  `help:"At most so many." default:"50"`
	JSON  bool `help:"Print JSON."`
}

func (c sessionList) Validate() error {
	if c.Limit < 1 {
		return errors.New("--limit is at least 1")
	}
	return c.onDevice.Validate()
}

func (c sessionList) Run(a *app) error {
	return a.looks(func(ctx context.Context, b backend) error {
		living := []wire.UserSession{}
		if c.User != "" {
			u, err := b.users.find(ctx, c.User)
			if err != nil {
				return err
			}
			for _, s := range u.Sessions {
				if class := c.class(); class == "" || s.Device.Class == class {
					living = append(living, wire.UserSession{Session: s, UserID: u.ID, Username: u.Username, Role: u.Role})
				}
			}
			return c.show(a.out, living)
		}
		for l, err := range b.sessions.Sessions(ctx, c.class()) {
			if err != nil {
				return err
			}
			if len(living) == c.Limit {
				_, _ = fmt.Fprintln(a.errs, "flakepass: there are more logins; a higher --limit shows them")
				break
			}
			living = append(living, l)
		}
		return c.show(a.out, living)
	})
}

func (c sessionList) show(out io.Writer, living []wire.UserSession) error {
	return show(out, c.JSON, living, func(w io.Writer) {
		_, _ = fmt.Fprintln(w, "ID\tUSERNAME\tROLE\tDEVICE\tMETHOD\tISSUED\tLAST SEEN\tEXPIRES")
		for _, l := range living {
			ends, by := l.ExpiresAt, l.ExpiresBy
			if l.IdleExpiresAt.Before(ends.Time) {
				ends, by = l.IdleExpiresAt, l.IdleBy
			}
			if by != "" {
				by = " (" + printable(by) + ")"
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s%s\n", l.ID, printable(l.Username), printable(l.Role), deviceText(l.Device)+actText(l.Act), printable(cmp.Or(l.AuthMethod, "-")),
				l.IssuedAt.Format(time.RFC3339), l.LastSeenAt.Format(time.RFC3339), ends.Format(time.RFC3339), by)
		}
	})
}

// actText says who acts by a login in place of its user, if not the user.
func actText(a *wire.Act) string {
	if a == nil {
		return ""
	}
	return " (support, by " + a.Admin().String() + ")"
}

// deviceText is a device in a table, in which spaces are between columns too.
func deviceText(d wire.Device) string {
	text := printable(d.Class)
	if text == "" { // of a server of an earlier version
		text = session.OtherDevice
	}
	if d.Name != "" {
		text += " (" + printable(d.Name) + ")"
	}
	return text
}

type sessionEnd struct {
	because
	ID idworker.ID `arg:"" help:"The ID of the login, as session list shows it."`
}

func (c sessionEnd) Run(a *app) error {
	return a.acts(func(ctx context.Context, b backend) error {
		ended, err := b.sessions.end(ctx, wire.ID(c.ID), c.Reason)
		if either(err, session.ErrNotFound, client.NotFound) {
			return fmt.Errorf("no login %s is known; `%s session list` shows those that live", c.ID, b.command)
		}
		return a.say(ended, err)
	})
}

type remoteLogoutAll struct {
	because
	Yes  bool `help:"Do not ask."`
	JSON bool `help:"Print JSON."`
}

func (c remoteLogoutAll) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s remoteServer) error {
		if !c.Yes {
			if err := a.confirm("About to end every login at " + s.URL + ", this one too. Everybody has to log in again."); err != nil {
				return err
			}
		}
		all, err := s.LogoutAll(ctx, c.Reason)
		if err != nil {
			return err
		}
		return show(a.out, c.JSON, all, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "every login that had begun ended%s, within %v on every instance; this one too\n", lived(all.Ended), all.Within)
		})
	})
}

type remoteStats struct {
	JSON bool `help:"Print JSON."`
}

func (c remoteStats) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s remoteServer) error {
		n, err := s.Stats(ctx)
		if err != nil {
			return err
		}
		return show(a.out, c.JSON, n, func(w io.Writer) {
			for _, l := range []struct {
				name string
				n    wire.Estimate
			}{{"users", n.Users}, {"role user", n.Roles.User}, {"role service", n.Roles.Service}, {"role admin", n.Roles.Admin},
				{"disabled", n.Disabled}, {"living logins", n.LiveLogins}} {
				_, _ = fmt.Fprintf(w, "%s\t%s\n", l.name, number(l.n))
			}
			for _, on := range n.ByClass {
				_, _ = fmt.Fprintf(w, "living on %s\t%s\n", printable(on.DeviceClass), number(on.Logins))
			}
		})
	})
}

// userImpersonate is only there remotely: who acts for a user is a person who is logged in.
type userImpersonate struct {
	Name   string `arg:"" help:"The username, or an alias."`
	Reason string `help:"Why, for the record: at most 1000 characters." required:"" placeholder:"TEXT"`
	JSON   bool   `help:"Print JSON."`
}

// An actLine is an impersonation as --json prints it.
type actLine struct {
	Token string `json:"token"`
	wire.Impersonation
}

func (c userImpersonate) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s remoteServer) error {
		u, err := s.find(ctx, c.Name)
		if err != nil {
			return err
		}
		i, err := s.Impersonate(ctx, u.ID, c.Reason)
		if err != nil {
			return err
		}
		err = show(a.out, c.JSON, actLine{i.Token.Reveal(), i.Impersonation}, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "You act for %q until %s, and the user sees it. The token is shown only now:\n  %s\n`flakepass remote session end %s` ends it.\n",
				printable(u.Username), i.ExpiresAt.Format(time.RFC3339), i.Token.Reveal(), i.SessionID)
		})
		return unseen(err, fmt.Sprintf("a token to act for %q", printable(u.Username)), "flakepass remote session end "+i.SessionID.String())
	})
}
