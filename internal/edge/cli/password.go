package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/server/hashproc"
)

// newPassword reads one line from standard input, or asks a person twice, without
// showing what is typed.
func (a *app) newPassword(fromInput bool) (string, error) {
	text, err := a.typed(fromInput)
	if err != nil || fromInput {
		return text, err
	}
	again, err := a.hidden("Again: ")
	if err != nil {
		return "", err
	}
	if text != again {
		return "", errors.New("the two are not the same; nothing was changed")
	}
	return text, nil
}

// typed reads one line from standard input, or asks a person once.
func (a *app) typed(fromInput bool) (string, error) {
	if !fromInput {
		return a.hidden("Password: ")
	}
	line, err := a.ask("", func() (string, error) { return bufio.NewReader(io.LimitReader(a.in, 4096)).ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), nil
}

// hidden asks a person, without showing what is typed. Not with term.ReadPassword: it reads
// on for ever, without a pause, when the terminal has gone.
func (a *app) hidden(prompt string) (string, error) {
	f, ok := a.terminal()
	if !ok {
		return "", errors.New("no terminal to ask for the password; pipe it in and say --password-stdin")
	}
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if a.keys == nil { // one for all questions: it reads ahead
		a.keys = term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{f, a.errs}, "")
	}
	text, err := a.ask("", func() (string, error) { return a.keys.ReadPassword(prompt) })
	_ = term.Restore(int(f.Fd()), before)
	switch {
	case errors.Is(err, io.EOF): // Ctrl-C, Ctrl-D, or a terminal that has gone
		_, _ = fmt.Fprintln(a.errs)
		return "", errInterrupted
	case err != nil:
		return "", fmt.Errorf("read the password: %w", err)
	}
	return text, nil
}

// hash is the process in which a server has passwords hashed. No help names it.
func hash(a *app) error {
	if f, ok := a.in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return errors.New("hash is started by serve, and is of no use by hand")
		}
	}
	out, ok := a.out.(*os.File)
	if !ok {
		return errors.New("hash writes to a file only")
	}
	// The end of its input ends it. A signal that stops the server often reaches this
	// process too, and logins that have begun are still to be answered.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	return hashproc.Serve(a.in, out, account.Here{})
}
