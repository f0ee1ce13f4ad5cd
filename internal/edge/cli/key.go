package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
)

type keyCommand struct {
	Add    keyAdd    `cmd:"" help:"Make a key for a service, and print it once."`
	List   keyList   `cmd:"" help:"List the keys of a service, the newest first."`
	Revoke keyRevoke `cmd:"" help:"End a key for good."`
}

type keyAdd struct {
	because
	Account string   `arg:"" help:"The account, which has the role service."`
	Name    string   `arg:"" help:"Where the key is used, for people."`
	Scope   []string `help:"What the key may do: verify, revoke, issue, issue:any-role, read:users, write:users. May be given several times." required:"" placeholder:"SCOPE"`
	For     *span    `help:"How long it is good, such as 90d; without it, until it is revoked." placeholder:"DURATION"`
	JSON    bool     `help:"Print JSON."`
}

// A keyLine is a new key as --json prints it.
type keyLine struct {
	Secret string `json:"key"`
	wire.ServiceKey
}

func (c keyAdd) Validate() error {
	if c.For != nil && *c.For == 0 {
		return errors.New("--for must be longer than 0s; without it, the key is good until it is revoked")
	}
	return nil
}

func (c keyAdd) Run(a *app) error {
	return a.at(a.toMint, ofUser(c.Account, func(ctx context.Context, b backend, u wire.Person) error {
		n := client.NewServiceKey{Name: c.Name, Scopes: c.Scope, Reason: c.Reason}
		if c.For != nil {
			n.ExpiresAt = time.Now().Add(time.Duration(*c.For))
		}
		made, err := b.keys.CreateServiceKey(ctx, u.ID, n)
		if err != nil {
			return err
		}
		err = show(a.out, c.JSON, keyLine{made.Key.Reveal(), made.ServiceKey}, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "key %s for %q, with the scopes %s, good until %s. It is shown only now:\n  %s\n",
				made.ID, printable(u.Username), printable(strings.Join(made.Scopes, ", ")), until(&made.ServiceKey), made.Key.Reveal())
		})
		return unseen(err, "the key", b.command+" key revoke "+made.ID.String())
	}))
}

// until is when a key ends.
func until(k *wire.ServiceKey) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked " + k.RevokedAt.Format(time.RFC3339)
	case k.ExpiresAt.IsZero():
		return "it is revoked"
	}
	return k.ExpiresAt.Format(time.RFC3339)
}

type keyList struct {
	Account string `arg:"" help:"The account."`
	JSON    bool   `help:"Print JSON."`
}

func (c keyList) Run(a *app) error {
	return a.looks(ofUser(c.Account, func(ctx context.Context, b backend, u wire.Person) error {
		keys, err := collect(b.keys.ServiceKeys(ctx, u.ID))
		if err != nil {
			return err
		}
		return show(a.out, c.JSON, keys, func(w io.Writer) {
			if len(keys) == 0 {
				_, _ = fmt.Fprintf(w, "%q has no key\n", printable(u.Username))
				return
			}
			_, _ = fmt.Fprintln(w, "ID\tNAME\tSCOPES\tMADE AT\tBY\tLAST USED\tGOOD UNTIL")
			for i := range keys {
				k := &keys[i]
				by, used := k.Creator.Name, "never"
				if k.Creator.ID == 0 {
					by = "(a command)"
				}
				if !k.UsedAt.IsZero() {
					used = k.UsedAt.Format(time.RFC3339)
				}
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, printable(k.Name), printable(strings.Join(k.Scopes, ",")),
					k.CreatedAt.Format(time.RFC3339), printable(by), used, until(k))
			}
		})
	}))
}

type keyRevoke struct {
	because
	ID idworker.ID `arg:"" help:"The ID of the key, as key list shows it."`
}

func (c keyRevoke) Run(a *app) error {
	return a.acts(func(ctx context.Context, b backend) error {
		within, err := b.keys.RevokeServiceKey(ctx, wire.ID(c.ID), c.Reason)
		if either(err, servicekey.ErrNotFound, client.NotFound) {
			return fmt.Errorf("no key %s is known; `%s key list` shows those of an account", c.ID, b.command)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "key %s is revoked, %s\n", c.ID, everywhere(within))
		return err
	})
}
