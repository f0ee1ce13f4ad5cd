package redisworker

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

// FuzzParse: what no script answers lends nothing.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "ok 7 5 9", "ok 7 9 5", "ok -1 5 9", "ok 7 5 9 9", "lost", "lost 1", "wait 5 6 calm",
		"reach 5", "none all", "broken record", "settings 5 6", "ok 7 5 99999999999999999999", "OK 7 5 9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words := strings.Split(s, " ")
		a, err := parse(words)
		lends, number, from, until := a.verdict == ok, a.n[0], a.n[1], a.n[2]
		switch {
		case err != nil && (lends || !errors.Is(err, ErrBroken)):
			t.Fatalf("%q: lends %v, %v", s, lends, err)
		case err == nil && lends:
			for i, n := range []int64{number, from, until} {
				if want, err := strconv.ParseInt(words[1+i], 10, 64); err != nil || n != want || n < 0 {
					t.Fatalf("%q was read as %d, %d, %d", s, number, from, until)
				}
			}
			if from > until {
				t.Fatalf("%q lends a range that ends before it begins", s)
			}
		}
	})
}
