package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/flakepass/flakepass/internal/account"
)

// password reads one line from standard input, or asks a person twice, without
// showing what is typed.
func (a *app) password(fromInput bool) (account.Password, error) {
	if fromInput {
		line, err := bufio.NewReader(io.LimitReader(a.in, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return account.Password{}, fmt.Errorf("read the password: %w", err)
		}
		return account.NewPassword(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")), nil
	}
	f, ok := a.terminal()
	if !ok {
		return account.Password{}, errors.New("no terminal to ask for the password; pipe it in and say --password-stdin")
	}
	ask := func(prompt string) (string, error) {
		_, _ = fmt.Fprint(a.errs, prompt)
		b, err := term.ReadPassword(int(f.Fd()))
		_, _ = fmt.Fprintln(a.errs)
		return string(b), err
	}
	first, err := ask("Password: ")
	if err != nil {
		return account.Password{}, fmt.Errorf("read the password: %w", err)
	}
	again, err := ask("Again: ")
	if err != nil {
		return account.Password{}, fmt.Errorf("read the password: %w", err)
	}
	if first != again {
		return account.Password{}, errors.New("the two are not the same; nothing was changed")
	}
	return account.NewPassword(first), nil
}
