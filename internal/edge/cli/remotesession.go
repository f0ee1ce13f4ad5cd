package cli

import (
	"context"
	"fmt"
	"io"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

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
