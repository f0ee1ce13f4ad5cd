package audit

import (
	"encoding/csv"
	"io"
	"strings"
	"unicode"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// columns are those of a CSV file of events, in their order.
var columns = []string{
	"id", "at", "actor_id", "actor", "via", "action", "target_kind", "target_id", "target", "reason", "old", "new", "request_id", "address",
}

// A CSV writes events as a CSV file (RFC 4180, with LF between rows), the same one
// for the console and the command. Nothing of a text is lost: what holds commas,
// quotes or ends of lines is quoted, and what a spreadsheet could take for a formula
// is as [SpreadsheetText] has it. Control characters stay as they are, so what goes
// to a terminal needs another look.
type CSV struct{ out *csv.Writer }

// NewCSV returns a CSV that writes to w, through a buffer.
func NewCSV(w io.Writer) *CSV { return &CSV{csv.NewWriter(w)} }

// Head writes the names of the columns.
func (c *CSV) Head() error { return c.out.Write(columns) }

// Write writes one event.
func (c *CSV) Write(e *wire.Event) error {
	cells := []string{
		e.ID.String(), e.At.String(), idText(e.Actor.ID), e.Actor.Name, e.Via, e.Action, e.Target.Kind, idText(e.Target.ID), e.Target.Name,
		e.Reason, string(e.Old), string(e.New), e.RequestID, e.Address,
	}
	for i := range cells {
		cells[i] = SpreadsheetText(cells[i])
	}
	return c.out.Write(cells)
}

// Flush writes what is in the buffer, and returns the first error of all writes.
func (c *CSV) Flush() error {
	c.out.Flush()
	return c.out.Error()
}

// idText is an ID, or nothing for none.
func idText(id wire.ID) string {
	if id == 0 {
		return ""
	}
	return id.String()
}

// signs begin a formula: those of OWASP, and what programs read as them, in full
// width, small, raised or lowered.
const signs = "=+-@" + "＝＋－＠" + "﹦﹢﹣﹫" + "⁼⁺⁻" + "₌₊₋" + "−﬩"

// SpreadsheetText is s for a cell of a CSV file: with a quote before it if a
// spreadsheet could take it for a formula (CSV injection). Spreadsheets trim what
// they read, and some normalise it, so what cannot be seen before a sign does not
// count. A text that begins with a control character always gets the quote.
//
// It looks at the beginning only: who opens the file with another separator than
// the comma makes cells of it that this has not seen.
func SpreadsheetText(s string) string {
	for i, r := range s {
		switch {
		case i == 0 && unicode.IsControl(r), strings.ContainsRune(signs, r):
			return "'" + s
		case !invalid.Blank(string(r)):
			return s
		}
	}
	return s
}
