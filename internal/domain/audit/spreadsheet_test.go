package audit_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/flakepass/flakepass/internal/domain/audit"
)

// TestSpreadsheetTakesNoTextForAFormula: also where it drops what stands before
// the sign, or reads another character as the sign.
func TestSpreadsheetTakesNoTextForAFormula(t *testing.T) {
	for _, text := range []string{
		"=1+1", "+1", "-1", "@SUM(1)", "=", // OWASP
		"\t", "\r=1", "\n=1", "\x00=1", "\tada", "\x00", // the same, and what begins like it
		" =1", "   +1", "\u00a0=1", "\u3000@x", "\u2003-1", "\t \r\n=1", // spaces
		"\ufeff=1", "\u200b=1", "\u200d=1", "\u2060=1", "\u00ad=1", "\u202e=1", "\u180e=1", "\ufe0f=1", "\u034f=1", "\u115f=1", "\u3164=1", "\u2800=1", // invisible characters
		"\u0301=1", "\x7f=1", "\x1b=1", "\u0085=1", "\u2028=1", "\U000e0020=1", "\ufffe=1", "\ue000=1",
		"\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20x", " \uff1d1", // full width
		"\ufe661", "\ufe621", "\ufe631", "\ufe6bx", "\u207a1", "\u207b1", "\u207c1", "\u208a1", "\u208b1", "\u208c1", "\u22121", "\ufb291", // small, raised, lowered
		"\xff=1", " \xc0\xaf+1",
	} {
		if got := audit.SpreadsheetText(text); got != "'"+text {
			t.Errorf("%+q becomes %+q", text, got)
		}
	}
	for _, text := range []string{"", "ada", " ada", "a=1", "1", "zoë", "'=1", "\"=1\"", "{\"a\":-1}", "失物", "\u0301a", "*", "?", "\uff11"} {
		if got := audit.SpreadsheetText(text); got != text {
			t.Errorf("%+q becomes %+q", text, got)
		}
	}
}

// FuzzSpreadsheetText: a text stays as it is, or has a quote before it; and what
// is left as it is does not begin with a sign, whatever is trimmed of it.
func FuzzSpreadsheetText(f *testing.F) {
	for _, text := range []string{"", "=1", " \u200b\uff1d1", "\xff+1", "ada", "\t\t@x", "\ufeff'=1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := audit.SpreadsheetText(text)
		if got == "'"+text {
			return
		}
		if got != text {
			t.Fatalf("%+q becomes %+q", text, got)
		}
		seen := strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar })
		for _, begins := range []string{text, seen} {
			if begins != "" && strings.ContainsAny(string([]rune(begins)[0]), "=+-@＝＋－＠\t\r\n\x00") {
				t.Fatalf("%+q is left as it is", text)
			}
		}
	})
}
