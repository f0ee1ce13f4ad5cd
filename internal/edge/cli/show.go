package cli

import (
	"encoding/json"
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
