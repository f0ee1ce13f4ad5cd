package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// show prints v as JSON, or as the table that f writes with tabs.
func show(w io.Writer, asJSON bool, v any, f func(io.Writer)) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	f(t)
	return t.Flush()
}

// say prints the sentence that a verb returned, if there is one and it did not fail.
func (a *app) say(sentence string, err error) error {
	if err == nil && sentence != "" {
		_, err = fmt.Fprintln(a.out, sentence)
	}
	return err
}
