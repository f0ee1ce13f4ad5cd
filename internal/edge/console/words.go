package console

import (
	"embed"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/flakepass/flakepass/api/wire"
)

//go:embed pages
var pageFiles embed.FS

func parsePages() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"asset": assetURL, "number": number[int64], "stamp": stamp, "when": when, "other": otherLanguages, "percent": percent, "links": links,
		"changes": changes, "note": policyNote,
	}).ParseFS(pageFiles, "pages/*.html")) // embedded: the tests would see it fail
}

// pageLinks lead from one page of a list to its first and to the next. A URL that
// is empty leads nowhere.
type pageLinks struct{ First, FirstName, Next, NextName string }

func links(first, firstName, next, nextName string) pageLinks {
	return pageLinks{first, firstName, next, nextName}
}

// number is n with a comma at every thousand, as both languages write it.
func number[N int | int64 | uint64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// percent is how much part is of whole, with a decimal below 10 %. A part that
// is not none is never 0 %, and one that is not all never 100 %.
func percent(part, whole int64) string {
	if whole <= 0 || part <= 0 {
		return "0 %"
	}
	switch p := 100 * float64(part) / float64(whole); {
	case part >= whole:
		return "100 %"
	case p < 0.1:
		return "< 0.1 %"
	case p < 10:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	case p > 99:
		return "> 99 %"
	default:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	}
}

// stamp is an instant for a program: RFC 3339 in UTC, to the millisecond.
func stamp(t time.Time) string { return wire.At(t).String() }

// when is an instant for a person. A script writes it in the zone of the viewer
// instead.
func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// otherLanguages are those that a reader of t could switch to.
func otherLanguages(t *texts) (others []*texts) {
	for _, l := range languages() {
		if l != t {
			others = append(others, l)
		}
	}
	return others
}

// apart puts a blank between a Chinese character and a digit behind it, as the
// texts have it.
func apart(s string) string {
	var b strings.Builder
	var before rune
	for _, r := range s {
		if unicode.Is(unicode.Han, before) && r >= '0' && r <= '9' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}
