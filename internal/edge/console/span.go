package console

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/duration"
)

// units are those of time. The texts unit.name.short, .one and .many are theirs.
var units = []struct {
	name string
	size time.Duration
}{{"day", day}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}

var errSpan = errors.New("not a length of time")

// maxSpan is the longest that is read, far beyond any that a policy may have.
const maxSpan = 100_000 * time.Hour

// A number and its unit, and the letter of a unit as [duration.Format] writes it.
var (
	amount = regexp.MustCompile(`(\d+)[\s\p{Z}]*([^\d\s\p{Z}]+)[\s\p{Z}]*`)
	letter = regexp.MustCompile(`[dhms]`)
)

// readSpan reads a length of time as a person types it: as everywhere else, such as
// 14d, or with blanks, and with the names of the units in any language of the pages,
// such as 1 day 12 hours. A number alone is none: of what?
func readSpan(s string) (time.Duration, error) {
	text := amount.ReplaceAllStringFunc(strings.ToLower(strings.TrimSpace(s)), func(part string) string {
		m := amount.FindStringSubmatch(part)
		return m[1] + unitLetter(m[2])
	})
	d, err := duration.Parse(text)
	if err != nil || d > maxSpan {
		return 0, errSpan
	}
	return d, nil
}

// unitLetter is that of a unit by its letter or its name, and otherwise the name.
func unitLetter(name string) string {
	for _, t := range languages() {
		for _, u := range units {
			if key := "unit." + u.name; name == t.Text(key+".short") || name == t.Text(key+".one") || name == t.Text(key+".many") {
				return u.name[:1]
			}
		}
	}
	return name
}

// typeSpan is d as readSpan reads it, without loss down to the second.
func typeSpan(d time.Duration) string {
	return strings.TrimSpace(letter.ReplaceAllString(duration.Format(d), "$0 "))
}

// span is d in words, by its two largest units.
func (t *texts) span(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	d = d.Truncate(time.Second)
	var parts []string
	for _, u := range units {
		n := int64(d / u.size)
		if n > 0 {
			form := ".many"
			if n == 1 {
				form = ".one"
			}
			parts = append(parts, number(n)+" "+t.Text("unit."+u.name+form))
			d -= time.Duration(n) * u.size
		}
		if len(parts) == 2 || len(parts) == 1 && n == 0 {
			break
		}
	}
	if len(parts) == 0 {
		return "0 " + t.Text("unit.second.many")
	}
	return strings.Join(parts, " ")
}
