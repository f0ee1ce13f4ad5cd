package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/flakepass/flakepass/api/wire"
)

// userImpersonate is only there remotely: who acts for a user is a person who is logged in.
type userImpersonate struct {
	Name   string `arg:"" help:"The username."`
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
		return show(a.out, c.JSON, actLine{i.Token.Reveal(), i.Impersonation}, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "You act for %q until %s, and the user sees it. The token is shown only now:\n  %s\n`flakepass remote session end %s` ends it.\n",
				printable(u.Username), i.ExpiresAt.Format(time.RFC3339), i.Token.Reveal(), i.SessionID)
		})
	})
}
