package cli

import (
	"context"
	"errors"
	"fmt"

	apiclient "github.com/flakepass/flakepass/api/client"
)

type remoteReauthenticate struct {
	PasswordStdin bool   `help:"Read the password from standard input instead of asking for it."`
	Code          string `help:"A code of the second factor, or a recovery code, if the account has one." placeholder:"CODE"`
}

func (c remoteReauthenticate) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		text, err := a.typed(c.PasswordStdin)
		if err != nil {
			return err
		}
		if err := s.Reauthenticate(ctx, apiclient.NewPassword(text), c.Code); err != nil {
			if errors.Is(err, apiclient.CurrentCodeInvalid) {
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
func (a *app) proving(ctx context.Context, s counter, f func(ctx context.Context, s counter) error) error {
	err := f(ctx, s)
	if !errors.Is(err, apiclient.ReauthenticationRequired) {
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
	err = s.Reauthenticate(ctx, apiclient.NewPassword(text), "")
	if errors.Is(err, apiclient.CurrentCodeInvalid) {
		code, asked := a.hidden("Code of the second factor: ")
		if asked != nil {
			return asked
		}
		err = s.Reauthenticate(ctx, apiclient.NewPassword(text), code)
	}
	if err != nil {
		return err
	}
	return f(ctx, s)
}
