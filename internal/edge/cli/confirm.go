package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// terminal is standard input, if a person sits there.
func (a *app) terminal() (*os.File, bool) {
	f, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, false
	}
	return f, true
}

// confirm asks a person to go on with what cannot be undone, and takes only the
// whole word yes. Without a terminal it fails: a script says --yes.
func (a *app) confirm(what string) error {
	f, ok := a.terminal()
	if !ok {
		return fmt.Errorf("%s Nothing was changed: there is no terminal to ask for a confirmation. If you are sure, say --yes", what)
	}
	_, _ = fmt.Fprintf(a.errs, "%s\nType yes to go on: ", what)
	answer := make(chan string, 1)
	go func() { // ends with the process, at the latest
		line, _ := bufio.NewReader(f).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		if strings.TrimSpace(line) == "yes" {
			return nil
		}
	case <-a.ctx.Done():
		_, _ = fmt.Fprintln(a.errs)
	}
	return errors.New("not confirmed; nothing was changed")
}
