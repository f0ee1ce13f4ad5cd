package audit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// signs begin a formula: those of OWASP, and what programs read as them, in full
// width, small, raised or lowered.
const signs = "=+-@" + "＝＋－＠" + "﹦﹢﹣﹫" + "⁼⁺⁻" + "₌₊₋" + "−﬩"

// SpreadsheetText is s for a cell of a CSV file: with a quote before it if a
// spreadsheet could take it for a formula (CSV injection). Spreadsheets trim what
// they read, and some normalise it, so what nobody sees before a sign does not
// count. A text that begins with a control character always gets the quote.
//
// It looks at the beginning only: who opens the file with another separator than
// the comma makes cells of it that this has not seen.
func SpreadsheetText(s string) string {
	for i, r := range s {
		switch {
		case i == 0 && unicode.IsControl(r), strings.ContainsRune(signs, r):
			return "'" + s
		case !unseen(r):
			return s
		}
	}
	return s
}

// unseen reports whether r leaves no mark of its own at the beginning of a cell.
func unseen(r rune) bool {
	const blankBraille = '\u2800'
	return !unicode.IsPrint(r) || unicode.IsSpace(r) || r == utf8.RuneError || r == blankBraille ||
		unicode.In(r, unicode.M, unicode.Other_Default_Ignorable_Code_Point)
}
