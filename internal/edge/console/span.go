package console

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// units are those of time. The texts unit.name.short, .one and .many are theirs.
var units = []struct {
	name string
	size time.Duration
}{{"day", day}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}

var errSpan = errors.New("not a length of time")

// maxSpan is the longest that is read, far beyond any that a policy may have.
const maxSpan = 100_000 * time.Hour

// readSpan reads a length of time as a person types it: numbers, each with a
// unit by its letter or its name in any language of the pages, such as 14d,
// 1d 12h or 90 minutes. A number alone is none: of what?
func readSpan(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 100 {
		return 0, errSpan
	}
	var sum time.Duration
	for s != "" {
		digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		if digits < 1 {
			return 0, errSpan
		}
		n, err := strconv.ParseInt(s[:digits], 10, 32)
		if err != nil {
			return 0, errSpan
		}
		s = strings.TrimLeftFunc(s[digits:], unicode.IsSpace)
		end := strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsDigit(r) })
		if end < 0 {
			end = len(s)
		}
		size := unitSize(strings.ToLower(s[:end]))
		if size == 0 || time.Duration(n) > (maxSpan-sum)/size {
			return 0, errSpan
		}
		sum += time.Duration(n) * size
		s = strings.TrimLeftFunc(s[end:], unicode.IsSpace)
	}
	return sum, nil
}

func unitSize(name string) time.Duration {
	for _, t := range languages() {
		for _, u := range units {
			if key := "unit." + u.name; name == t.Text(key+".short") || name == t.Text(key+".one") || name == t.Text(key+".many") {
				return u.size
			}
		}
	}
	return 0
}

// typeSpan is d as readSpan reads it, without loss down to the second.
func typeSpan(d time.Duration) string {
	var parts []string
	for _, u := range units {
		if n := d / u.size; n > 0 {
			parts = append(parts, strconv.FormatInt(int64(n), 10)+languages()[0].Text("unit."+u.name+".short"))
			d -= n * u.size
		}
	}
	if len(parts) == 0 {
		return "0s"
	}
	return strings.Join(parts, " ")
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
