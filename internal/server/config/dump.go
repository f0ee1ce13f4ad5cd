package config

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Dump writes the effective value of every setting and where it comes from:
// one a line, or as a JSON array of objects. What is secret in a value is
// replaced by [hidden]. Its errors are those of w.
func (c Config) Dump(w io.Writer, asJSON bool) error {
	type line struct {
		Variable string `json:"variable"`
		Key      string `json:"key"`
		Value    string `json:"value"`
		Origin   string `json:"origin"`           // default, environment or file
		Detail   string `json:"detail,omitempty"` // the line of the file, or the variable that named a secret's file
	}
	var lines []line
	for _, s := range settings(&c) {
		o, ok := c.origins[s.key]
		if !ok {
			o.from = "default"
		}
		lines = append(lines, line{s.variable(), s.key, s.value.show(), o.from, o.detail})
	}
	if asJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(lines); err != nil {
			return fmt.Errorf("config: dump: %w", err)
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "VARIABLE\tORIGIN\tVALUE")
	for _, l := range lines {
		if l.Detail != "" {
			l.Origin += " (" + l.Detail + ")"
		}
		if l.Value == "" {
			l.Value = "(none)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", l.Variable, l.Origin, l.Value)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("config: dump: %w", err)
	}
	return nil
}
