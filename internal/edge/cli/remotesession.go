package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

type remoteSession struct {
	List remoteSessionList `cmd:"" help:"List the logins that live, newest first."`
	End  remoteSessionEnd  `cmd:"" help:"End one login."`
}

type remoteSessionList struct{ sessionList }

func (c remoteSessionList) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		lines := []sessionLine{}
		add := func(l apiclient.UserSession) {
			lines = append(lines, sessionLineOf(idworker.ID(l.ID), idworker.ID(l.UserID), l.Username, l.Role, l.IssuedAt, l.LastSeenAt, l.ExpiresAt, l.IdleExpiresAt))
		}
		if c.User != "" {
			u, err := s.find(ctx, c.User)
			if err != nil {
				return err
			}
			if u.Session != nil {
				add(apiclient.UserSession{Session: *u.Session, UserID: u.ID, Username: u.Username, Role: u.Role})
			}
			return c.show(a.out, lines)
		}
		for l, err := range s.Sessions(ctx) {
			if err != nil {
				return err
			}
			if add(l); len(lines) >= c.Limit {
				break
			}
		}
		return c.show(a.out, lines)
	})
}

type remoteSessionEnd struct{ sessionEnd }

func (c remoteSessionEnd) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		within, err := s.EndSession(ctx, flakepass.ID(c.ID), c.Reason)
		if errors.Is(err, apiclient.NotFound) {
			return errNoLogin(c.ID, "flakepass remote")
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "login %s is over, %s\n", c.ID, everywhere(within))
		return err
	})
}

type remoteLogoutAll struct {
	because
	Yes  bool `help:"Do not ask."`
	JSON bool `help:"Print JSON."`
}

func (c remoteLogoutAll) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		if !c.Yes {
			if err := a.confirm("About to end every login at " + s.URL + ", this one too. Everybody has to log in again."); err != nil {
				return err
			}
		}
		all, err := s.LogoutAll(ctx, c.Reason)
		if err != nil {
			return err
		}
		var count *estimateLine
		if all.Ended != nil {
			n := estimateLine(*all.Ended)
			count = &n
		}
		return show(a.out, c.JSON, struct {
			Ended    *estimateLine `json:"ended"`
			WithinMS int64         `json:"effective_within_ms"`
		}{count, all.Within.Milliseconds()}, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "every login that had begun ended%s, within %v on every instance; this one too\n",
				lived((*policy.Estimate)(all.Ended)), all.Within)
		})
	})
}

type remoteStats struct {
	JSON bool `help:"Print JSON."`
}

func (c remoteStats) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		n, err := s.Stats(ctx)
		if err != nil {
			return err
		}
		return show(a.out, c.JSON, n, func(w io.Writer) {
			for _, l := range []struct {
				name string
				n    apiclient.Estimate
			}{{"users", n.Users}, {"role user", n.Roles.User}, {"role service", n.Roles.Service}, {"role admin", n.Roles.Admin},
				{"disabled", n.Disabled}, {"living logins", n.LiveLogins}} {
				_, _ = fmt.Fprintf(w, "%s\t%s\n", l.name, number(policy.Estimate(l.n)))
			}
		})
	})
}
