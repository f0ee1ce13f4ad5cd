package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/edge/httpapi"
)

// TestConditionsAreThoseOfTheRFC: RFC 9110 sections 8.8.3 and 13.1.1.
func TestConditionsAreThoseOfTheRFC(t *testing.T) {
	for _, c := range []struct {
		lines                   []string
		given, ok, strong, weak bool
	}{
		{nil, false, true, false, false},
		{[]string{""}, false, true, false, false},
		{[]string{" , ,"}, false, true, false, false},
		{[]string{`*`}, true, true, true, true},
		{[]string{`"7"`}, true, true, true, true},
		{[]string{`"8"`}, true, true, false, false},
		{[]string{`W/"7"`}, true, true, false, true},
		{[]string{`"6", "7"`}, true, true, true, true},
		{[]string{`"6",,"7"`}, true, true, true, true},
		{[]string{`"6"`, `"7"`}, true, true, true, true},
		{[]string{`W/"7", "8"`}, true, true, false, true},
		{[]string{`"7,8"`}, true, true, false, false},
		{[]string{`"", "7"`}, true, true, true, true},
		{[]string{`"é", "7"`}, true, true, true, true},

		{[]string{`7`}, true, false, false, false},
		{[]string{`'7'`}, true, false, false, false},
		{[]string{`"7`}, true, false, false, false},
		{[]string{`7"`}, true, false, false, false},
		{[]string{`"`}, true, false, false, false},
		{[]string{`w/"7"`}, true, false, false, false},
		{[]string{`W/ "7"`}, true, false, false, false},
		{[]string{`W/7`}, true, false, false, false},
		{[]string{`"6" "7"`}, true, false, false, false},
		{[]string{`"6""7"`}, true, false, false, false},
		{[]string{`*, "7"`}, true, false, false, false},
		{[]string{`"7", *`}, true, false, false, false},
		{[]string{`"7 "`}, true, false, false, false},
		{[]string{"\"7\t\""}, true, false, false, false},
		{[]string{"\"7\x7f\""}, true, false, false, false},
	} {
		given, ok, strong, weak := httpapi.Condition(http.Header{"If-Match": c.lines}, "If-Match", `"7"`)
		if given != c.given || ok != c.ok || strong != c.strong || weak != c.weak {
			t.Errorf("%q: given %v, ok %v, strong %v, weak %v", c.lines, given, ok, strong, weak)
		}
	}
}

// FuzzCondition: a header is a condition, or said not to be; and what is none
// never lets a change through.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{`*`, `"7"`, `W/"7"`, `"6", "7"`, `7`, `"`, `""`, `,`, `W/`, `"7"x`, "\"\xff\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		given, ok, strong, weak := httpapi.Condition(http.Header{"If-Match": {s}}, "If-Match", `"7"`)
		if (!given || !ok) && (strong || weak) {
			t.Errorf("%q is no condition, and holds", s)
		}
		if strong && !weak {
			t.Errorf("%q matches strongly, and not weakly", s)
		}
		// One that holds goes on holding in a longer list.
		if ok && given && strong && strings.Trim(s, " \t,") != "*" {
			if _, ok, strong, _ := httpapi.Condition(http.Header{"If-Match": {`"6"`, s, `W/"8"`}}, "If-Match", `"7"`); !ok || !strong {
				t.Errorf("%q alone holds, and not in a list", s)
			}
		}
	})
}
