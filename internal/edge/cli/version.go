package cli

import (
	_ "embed"
	"fmt"

	"github.com/flakepass/flakepass/internal/server/release"
)

type versionCommand struct {
	Short    bool `help:"Print the number alone." xor:"what"`
	Licences bool `help:"Print the licences of all that is linked into this program." xor:"what"`
}

func (c versionCommand) Run(a *app) error {
	var err error
	switch {
	case c.Licences:
		_, err = fmt.Fprint(a.out, release.Licences)
	case c.Short:
		_, err = fmt.Fprintln(a.out, release.Number())
	default:
		_, err = fmt.Fprintln(a.out, "flakepass", release.Version())
	}
	return err
}
