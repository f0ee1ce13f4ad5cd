package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/server/config"
)

// packages are those whose names begin the texts of their errors. That is for
// the log; a user has no use for it.
var packages = []string{
	"account", "activity", "operator", "console", "audit", "breached", "broadcast", "cli", "client", "clientaddr", "config", "connlimit", "duration", "durable", "feed", "fileworker", "fleet", "foreignhash", "layer", "sqlstore", "hashproc", "importhook", "httpapi",
	"idworker", "keypair", "limit", "login", "memstore", "migrations", "policy", "problem", "redisstore", "redisworker", "run", "secondfactor", "servicekey", "session",
	"sqlworker", "sweep", "telemetry", "ratelimit", "requestid", "zkworker",
}

var names = regexp.MustCompile(`(^|: |; |\n)(?:(?:` + strings.Join(packages, "|") + `): )+`)

// plain is an error as a person reads it.
func plain(err error) string {
	if wrong, ok := errors.AsType[*invalid.Error](err); ok {
		return wrong.Error()
	}
	text := strings.TrimPrefix(names.ReplaceAllString(err.Error(), "$1"), "check: ") // the command was no check
	if _, wrong := errors.AsType[config.Problems](err); wrong {
		text = strings.Replace(text, ":\n", " with the configuration:\n", 1)
	}
	switch {
	case errors.Is(err, idworker.ErrBadID):
		text += "; an ID is a decimal number from 1 to 9223372036854775807"
	case errors.Is(err, context.DeadlineExceeded):
		text += "; no answer came in time, try again"
	}
	return text
}

// mistyped is what is wrong with a command line. kong suggests what begins the
// same or differs by a letter or two; a command of another group, or nothing
// near, is left to us.
func mistyped(err error) string {
	text := plain(err)
	parse, ok := errors.AsType[*kong.ParseError](err)
	word, found := strings.CutPrefix(text, "unexpected argument ")
	if !ok || !found || strings.Contains(text, "did you mean") {
		return text
	}
	at := parse.Context.Model.Node
	if selected := parse.Context.Selected(); selected != nil {
		at = selected
	}
	if at.Leaf() {
		return text
	}
	var commands []string
	for _, n := range at.Children {
		if !n.Hidden {
			commands = append(commands, n.Name)
		}
	}
	for _, leaf := range parse.Context.Model.Leaves(true) {
		// One further down is about something else: user remove is not user second-factor remove.
		if leaf.Name == word && (at.Parent == nil || !strings.Contains(leaf.FullPath(), " "+at.Name+" ")) {
			return fmt.Sprintf("%s, did you mean %q?", text, strings.TrimPrefix(leaf.FullPath(), "flakepass "))
		}
	}
	slices.Sort(commands)
	return text + "; the commands are " + strings.Join(commands, ", ")
}
