package config

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Reference writes the table of all settings, in Markdown, for the
// documentation. Its errors are those of w.
func Reference(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "| variable | key in the file | default | meaning |")
	fmt.Fprintln(b, "|---|---|---|---|")
	for _, s := range settings(&Config{}) {
		def := "empty"
		switch {
		case s.derive != nil:
			def = s.def
		case s.def != "":
			def = "`" + s.def + "`"
		}
		doc := s.doc
		if s.secret {
			doc += " May hold a password, so it can also be read from the file that `" + s.fileVariable() + "` names."
		}
		fmt.Fprintf(b, "| `%s` | `%s` | %s | %s |\n", s.variable(), s.key, def, strings.ReplaceAll(doc, "|", `\|`))
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("config: reference: %w", err)
	}
	return nil
}
